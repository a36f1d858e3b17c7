import { segmented } from './inputs.ts';

const KEY = 'gw-console-theme';
const THEMES = [
  ['auto', 'Auto'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

/** Light, dark, or what the system says; the choice stays in this browser. */
export function themeSwitch(): HTMLElement {
  const chosen = stored();
  apply(chosen);
  return segmented({
    legend: 'Colours',
    name: 'theme',
    chosen,
    options: THEMES,
    choose: (theme) => {
      store(theme);
      apply(theme);
    },
  });
}

function apply(theme: string): void {
  document.documentElement.dataset['theme'] = theme;
}

function stored(): string {
  try {
    return THEMES.find(([theme]) => theme === localStorage.getItem(KEY))?.[0] ?? 'auto';
  } catch {
    // Storage may be forbidden; then the choice lasts as long as the page.
    return 'auto';
  }
}

function store(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // See above.
  }
}
