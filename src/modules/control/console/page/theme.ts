import { h } from './dom.ts';

const KEY = 'gw-console-theme';
const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/** Light, dark, or what the system says: three radio buttons; the choice stays in this browser. */
export function themeSwitch(): HTMLElement {
  const chosen = stored();
  apply(chosen);
  return h(
    'fieldset',
    { class: 'segmented themes' },
    h('legend', { class: 'unseen' }, 'Colours'),
    ...THEMES.map((theme) =>
      h(
        'label',
        {},
        h('input', {
          type: 'radio',
          name: 'theme',
          value: theme,
          checked: theme === chosen,
          onchange: () => {
            store(theme);
            apply(theme);
          },
        }),
        h('span', {}, theme[0]?.toUpperCase() + theme.slice(1)),
      ),
    ),
  );
}

function apply(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme;
}

function stored(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'auto';
  } catch {
    // Storage may be forbidden; then the choice lasts as long as the page.
    return 'auto';
  }
}

function store(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // See above.
  }
}
