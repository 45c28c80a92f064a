/** The operator's console: a client of the API that runs in the browser alone. */
import { render } from "preact";
import { Frame } from "./frame.tsx";
import { followScroll } from "./ui/scroll.ts";
import { applyTheme } from "./ui/theme.tsx";

applyTheme();
followScroll();
render(<Frame />, document.body);
