/** A text field that offers names: the keyboard and the roles are those of the ARIA combobox pattern. */
import ComboboxNavigation from "@github/combobox-nav";
import { ChevronsUpDown } from "lucide";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import type { Option } from "./resource.ts";

const MAX_SHOWN_OPTIONS = 50;

function matches({ id, label, detail }: Option, text: string): boolean {
  return `${label} ${detail} ${id}`.toLowerCase().includes(text.trim().toLowerCase());
}

const MAX_LIST_HEIGHT = 256;
const SCREEN_MARGIN = 8;

/** Puts the list below its field, or above it where only that place has room. */
function placeList(field: HTMLElement, list: HTMLElement): void {
  const { top, bottom, left, width } = field.getBoundingClientRect();
  const height = Math.min(list.scrollHeight, MAX_LIST_HEIGHT);
  const [above, below] = [top - SCREEN_MARGIN, innerHeight - bottom - SCREEN_MARGIN];
  const isAbove = below < height && above > below;
  Object.assign(list.style, {
    left: `${left}px`,
    minWidth: `${width}px`,
    maxHeight: `${Math.min(MAX_LIST_HEIGHT, isAbove ? above : below)}px`,
    top: isAbove ? "auto" : `${bottom + 2}px`,
    bottom: isAbove ? `${innerHeight - top + 2}px` : "auto",
  });
}

/**
 * Shows the name of the selected option, and offers those that match what is typed. A text that is no name is
 * an identifier.
 */
export function Combobox({
  options,
  value,
  onChange,
  label,
  attributes,
}: {
  options: readonly Option[];
  /** Identifier of the option. */
  value: string;
  onChange: (value: string) => void;
  /** What the list is called. */
  label: string;
  /** Attributes of the input. */
  attributes: { id: string } & Record<string, unknown>;
}) {
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const navigation = useRef<ComboboxNavigation | null>(null);
  /** Null: nobody is typing. */
  const [typed, setTyped] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const selected = options.find(({ id }) => id === value);
  const shown = options
    .filter((one) => typed === null || typed === "" || matches(one, typed))
    .slice(0, MAX_SHOWN_OPTIONS);

  useLayoutEffect(() => {
    if (!input.current || !list.current) return;
    navigation.current = new ComboboxNavigation(input.current, list.current, {
      tabInsertsSuggestions: false,
    });
    return () => navigation.current?.destroy();
  }, []);
  useLayoutEffect(() => {
    if (isOpen && shown.length > 0) navigation.current?.start();
    else navigation.current?.stop();
  }, [isOpen, shown.length > 0]);
  useLayoutEffect(() => {
    const [field, popup] = [input.current, list.current];
    if (!isOpen || shown.length === 0 || !field || !popup) return;
    const place = () => placeList(field, popup);
    // Nothing cuts a popover: neither a form, nor its buttons.
    popup.showPopover();
    place();
    addEventListener("scroll", place, true);
    addEventListener("resize", place);
    return () => {
      removeEventListener("scroll", place, true);
      removeEventListener("resize", place);
      popup.hidePopover();
    };
  }, [isOpen, shown.length]);

  const close = () => {
    setOpen(false);
    setTyped(null);
  };
  const commit = (event: Event) => {
    const index = (event.target as HTMLElement).closest("li")?.dataset.index;
    const option = shown[Number(index)];
    if (option) onChange(option.id);
    close();
  };
  useLayoutEffect(() => {
    const element = list.current;
    element?.addEventListener("combobox-commit", commit);
    return () => element?.removeEventListener("combobox-commit", commit);
  });
  return (
    <div class="combobox">
      <input
        {...attributes}
        ref={input}
        type="text"
        autocomplete="off"
        spellcheck={false}
        value={typed ?? selected?.label ?? value}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => setOpen(true)}
        onInput={(event) => {
          const text = event.currentTarget.value;
          const exact = options.find(({ id, label }) => label === text || id === text);
          setTyped(text);
          setOpen(exact === undefined);
          onChange(exact?.id ?? text);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setOpen(true);
          if (event.key === "Escape" && isOpen) {
            // The dialog stays open.
            event.preventDefault();
            event.stopPropagation();
            close();
          }
        }}
        onBlur={close}
      />
      <Icon node={ChevronsUpDown} size={14} />
      <ul
        ref={list}
        id={`${attributes.id}-list`}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the pattern's own role.
        role="listbox"
        popover="manual"
        aria-label={`Options of ${label}`}
        hidden={!isOpen || shown.length === 0}
        // The field keeps the focus.
        onMouseDown={(event) => event.preventDefault()}
      >
        {shown.map((option, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field names the active option.
          <li
            key={option.id}
            id={`${attributes.id}-${i}`}
            data-index={i}
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the pattern's own role.
            role="option"
          >
            {option.label}
            {option.detail && <small>{option.detail}</small>}
          </li>
        ))}
      </ul>
    </div>
  );
}
