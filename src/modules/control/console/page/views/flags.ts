import { DATA_PATHS, type FlagChange, type FlagPage, type FlagState } from '../../contract.ts';
import { pause, read, write } from '../api.ts';
import { h, plainButton, primaryButton, type Row, Rows, setText, show, textInput } from '../dom.ts';
import { span } from '../format.ts';
import { empty } from '../marks.ts';
import type { OpenView } from '../shell.ts';

const LIFETIMES = [
  [0, 'Never expires'],
  [3_600, 'One hour'],
  [86_400, 'One day'],
  [604_800, 'One week'],
] as const;

/** Returns the form that adds or replaces a flag. `set` tells whether that succeeded. */
function flagForm(set: (flag: FlagState) => Promise<boolean>): HTMLElement {
  const name = textInput('Name of the flag', { required: true, maxlength: 255, placeholder: 'new_checkout' });
  const share = h('input', {
    type: 'number',
    min: 0,
    max: 100,
    value: 100,
    'aria-label': 'Rollout in percent',
  });
  const lifetimes = LIFETIMES.map(([seconds, label]) => h('option', { value: seconds }, label));
  const lifetime = h('select', { 'aria-label': 'Expiry' }, ...lifetimes);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const flag = {
      name: name.value,
      enabled: true,
      rolloutPct: Number(share.value),
      ttlS: Number(lifetime.value),
    };
    if (await set(flag)) name.value = '';
  };
  const percent = h('label', { class: 'suffixed' }, share, h('span', { 'aria-hidden': 'true' }, '%'));
  const onsubmit = (event: Event): void => void submit(event);
  return h(
    'section',
    { class: 'card' },
    h('header', { class: 'card-head' }, h('h2', {}, 'Set a flag')),
    h('form', { class: 'line', onsubmit }, name, percent, lifetime, primaryButton('Set')),
  );
}

/** A flag of the table. One that a variable depends on is shown before anybody has set it. */
interface ShownFlag {
  readonly state: FlagState;
  readonly isSet: boolean;
}

/** Returns the flags that are set, followed by those that variables depend on and nobody has set: they are off. */
function shownFlags({ flags, variables }: FlagPage): readonly ShownFlag[] {
  const known = new Set(flags.map(({ name }) => name));
  const unset = new Set(variables.map(({ flag }) => flag).filter((name) => !known.has(name)));
  const states = [...unset].map((name) => ({ name, enabled: false, rolloutPct: 100, ttlS: 0 }));
  return [
    ...flags.map((state) => ({ state, isSet: true })),
    ...states.map((state) => ({ state, isSet: false })),
  ];
}

/** A flag with its switch and its rollout. */
class FlagRow implements Row<ShownFlag> {
  readonly element: HTMLElement;
  readonly #switch: HTMLElement;
  readonly #range: HTMLInputElement;
  readonly #share = h('output');
  readonly #expires = h('td', { class: 'quiet' });
  readonly #remove: HTMLElement;
  readonly #change: (change: FlagChange) => void;
  #state: FlagState;

  constructor(
    { state }: ShownFlag,
    { variable, change }: { variable: string | undefined; change: (change: FlagChange) => void },
  ) {
    const { name } = state;
    this.#state = state;
    this.#change = change;
    this.#switch = h('button', {
      type: 'button',
      role: 'switch',
      class: 'switch',
      'aria-label': name,
      onclick: () => this.#set({ enabled: !this.#state.enabled }),
    });
    this.#range = h('input', {
      type: 'range',
      min: 0,
      max: 100,
      'aria-label': `Rollout of ${name} in percent`,
      oninput: () => setText(this.#share, `${this.#range.value} %`),
      onchange: () => this.#set({ rolloutPct: Number(this.#range.value) }),
    });
    this.#remove = plainButton('Remove', () => change({ unset: name }), `Remove ${name}`);
    const note = variable !== undefined && h('small', {}, `decides $${variable}`);
    this.element = h(
      'tr',
      {},
      h('th', { scope: 'row' }, h('code', {}, name), note),
      h('td', {}, this.#switch),
      h('td', { class: 'rollout' }, h('span', {}, this.#range, this.#share)),
      this.#expires,
      h('td', { class: 'end' }, this.#remove),
    );
  }

  update({ state, isSet }: ShownFlag): void {
    const { enabled, rolloutPct, ttlS } = state;
    this.#state = state;
    this.#switch.setAttribute('aria-checked', String(enabled));
    if (document.activeElement !== this.#range) this.#range.value = String(rolloutPct);
    setText(this.#share, `${rolloutPct} %`);
    setText(this.#expires, isSet ? (ttlS === 0 ? 'never' : `in ${span(ttlS)}`) : 'not set yet');
    this.#remove.hidden = !isSet;
  }

  #set(changed: Partial<FlagState>): void {
    this.#change({ set: { ...this.#state, ...changed } });
  }
}

const EVERY_MS = 3_000;

/**
 * The view of feature flags, which can be switched, rolled out, added and removed. Changes take effect in all workers
 * at once.
 */
export const openFlags: OpenView = ({ signal }) => {
  const table = new FlagTable();
  void table.run(signal);
  return { title: 'Flags', element: table.element };
};

class FlagTable {
  readonly #message = h('p', { class: 'notice failed', role: 'alert', hidden: true });
  readonly #body = h('tbody');
  readonly #none = empty('No flags yet', 'A flag that nobody has set counts as off.');
  readonly #form = flagForm((flag) => this.#change({ set: flag }));
  readonly #rows = new Rows<ShownFlag>(
    this.#body,
    ({ state }) => state.name,
    (flag) =>
      new FlagRow(flag, {
        variable: this.#variables.get(flag.state.name),
        change: (change) => void this.#change(change),
      }),
  );
  #variables = new Map<string, string>();
  readonly #table = h(
    'table',
    { class: 'flags' },
    h(
      'thead',
      {},
      h('tr', {}, ...['Flag', 'On', 'Rollout', 'Expires', ''].map((name) => h('th', { scope: 'col' }, name))),
    ),
    this.#body,
  );
  readonly #card = h('section', { class: 'card' }, h('div', { class: 'scroll' }, this.#table), this.#none);
  readonly element = h('div', { class: 'stack' }, this.#message, this.#card, this.#form);

  /** Reloads the flags regularly: they may be changed elsewhere. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#show(await read<FlagPage>(DATA_PATHS.flags, {}, signal));
      } catch (error) {
        if (!signal.aborted) this.#tell((error as Error).message);
      }
      await pause(EVERY_MS, signal);
    }
  }

  #show(page: FlagPage): void {
    const { dictionaries, variables } = page;
    if (dictionaries.length === 0) {
      const text = 'Declare one in the http block: shared_dict_zone zone=feature_flags:1m;';
      return show(this.#card, empty('No dictionary for flags', text));
    }
    this.#variables = new Map(variables.map(({ flag, variable }) => [flag, variable]));
    const shown = shownFlags(page);
    this.#rows.update(shown);
    this.#table.hidden = shown.length === 0;
    this.#none.hidden = shown.length > 0;
    this.#tell(undefined);
  }

  async #change(change: FlagChange): Promise<boolean> {
    try {
      this.#show(await write<FlagPage>(DATA_PATHS.flags, change));
      return true;
    } catch (error) {
      this.#tell((error as Error).message);
      return false;
    }
  }

  #tell(message: string | undefined): void {
    this.#message.hidden = message === undefined;
    setText(this.#message, message ?? '');
  }
}
