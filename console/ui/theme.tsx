/** Light, dark, or as the system has it, which is the default. */
import { signal } from "@preact/signals";

const STORED_AS = "theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const theme = signal<Theme>(
  THEMES.find((one) => one === localStorage.getItem(STORED_AS)) ?? "system",
);

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value;
}

export function ThemeChoice() {
  const choose = (chosen: string) => {
    theme.value = THEMES.find((one) => one === chosen) ?? "system";
    localStorage.setItem(STORED_AS, theme.value);
    applyTheme();
  };
  return (
    <label class="choice">
      <span>Theme</span>
      <select value={theme.value} onChange={(event) => choose(event.currentTarget.value)}>
        {THEMES.map((one) => (
          <option key={one} selected={one === theme.value}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}
