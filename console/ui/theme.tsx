/** Light, dark, or as the system has it, which is the default. */
import { signal } from "@preact/signals";

const STORAGE_KEY = "theme";
const THEMES = ["system", "light", "dark"] as const;
const THEME_LABELS = { system: "System", light: "Light", dark: "Dark" } as const;
type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(
  THEMES.find((one) => one === localStorage.getItem(STORAGE_KEY)) ?? "system",
);

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value;
}

export function ThemeChoice() {
  const selectTheme = (chosen: string) => {
    theme.value = THEMES.find((one) => one === chosen) ?? "system";
    localStorage.setItem(STORAGE_KEY, theme.value);
    applyTheme();
  };
  return (
    <label class="choice theme" title="Theme">
      <span>Theme</span>
      <select value={theme.value} onChange={(event) => selectTheme(event.currentTarget.value)}>
        {THEMES.map((one) => (
          <option key={one} value={one} selected={one === theme.value}>
            {THEME_LABELS[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
