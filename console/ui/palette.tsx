/** Ctrl-K: finds pages, actions and objects by what people type, and goes there. */
import ComboboxNavigation from "@github/combobox-nav";
import { signal } from "@preact/signals";
import { Search } from "lucide";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconNode } from "./icon.tsx";
import { network } from "./route.ts";

/** Somewhere to go. */
export interface Command {
  label: string;
  /** What it is, such as `Page`. */
  kind: string;
  href: string;
  icon?: IconNode | undefined;
}

const isOpen = signal(false);
const MAX_COMMANDS = 8;
const TYPING_DELAY_MS = 250;
const MIN_SEARCH_LENGTH = 3;

export function openPalette(): void {
  isOpen.value = true;
}

/** @param search - objects that match a text */
export interface PaletteProps {
  commands: readonly Command[];
  search: (text: string, signal: AbortSignal) => Promise<Command[]>;
}

export function Palette(props: PaletteProps) {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      // A dialog with input is not left by accident.
      if (document.querySelector("dialog[open]") === null) openPalette();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return isOpen.value ? <OpenPalette {...props} /> : null;
}

function OpenPalette({ commands, search }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const navigation = useRef<ComboboxNavigation | null>(null);
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ text: string; commands: Command[] } | null>(null);
  const entered = text.trim().toLowerCase();
  const matching = commands
    .filter(({ label, kind }) => `${label} ${kind}`.toLowerCase().includes(entered))
    .slice(0, MAX_COMMANDS);
  const isSearching = entered.length >= MIN_SEARCH_LENGTH && found?.text !== entered;
  const shown = [...matching, ...(found?.text === entered ? found.commands : [])];
  const close = () => {
    isOpen.value = false;
  };

  // Before the next key, which belongs to the field.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    if (!input.current || !list.current) return;
    navigation.current = new ComboboxNavigation(input.current, list.current, {
      firstOptionSelectionMode: "selected",
      tabInsertsSuggestions: false,
    });
    navigation.current.start();
    return () => navigation.current?.destroy();
  }, []);
  // After the library, which ends a selection when the text changes.
  useEffect(() => navigation.current?.resetSelection(), [entered, shown.length]);
  useEffect(() => {
    if (entered.length < MIN_SEARCH_LENGTH) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      search(text.trim(), stop.signal)
        .then((some) => setFound({ text: entered, commands: some }))
        .catch(() => undefined);
    }, TYPING_DELAY_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [entered]);
  useLayoutEffect(() => {
    const element = list.current;
    const go = (event: Event) => {
      const index = (event.target as HTMLElement).closest("li")?.dataset.index;
      const command = shown[Number(index)];
      if (!command) return;
      close();
      location.hash = command.href;
    };
    element?.addEventListener("combobox-commit", go);
    return () => element?.removeEventListener("combobox-commit", go);
  });

  return (
    <dialog ref={dialog} class="palette" aria-label="Search and go" onClose={close}>
      <div class="palette-search">
        <Icon node={Search} />
        <input
          ref={input}
          type="text"
          aria-label="Search"
          placeholder="Page, action, agent, wallet, escrow, hash or address"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <ul
        ref={list}
        id="palette-list"
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the pattern's own role.
        role="listbox"
        aria-label="Results"
      >
        {shown.map(({ label, kind, href, icon }, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field names the active option.
          <li
            key={`${kind} ${href}`}
            id={`palette-${i}`}
            data-index={i}
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the pattern's own role.
            role="option"
          >
            {icon && <Icon node={icon} />}
            <span>{label}</span>
            <small>{kind}</small>
          </li>
        ))}
      </ul>
      {isSearching && <p class="none">Searching…</p>}
      {!isSearching && shown.length === 0 && (
        <p class="none">
          Nothing on {network.value} matches. You can search by the name of a page, action, agent or
          wallet, an escrow's id or identifier, a hash or an address.
        </p>
      )}
    </dialog>
  );
}
