import { DATA_PATHS } from '../../contract.ts';
import type { FlagChange, FlagPage, FlagState } from '../../contract.ts';
import { pause, read, write } from '../api.ts';
import { h, Rows, setText, show } from '../dom.ts';
import { empty } from '../marks.ts';
import type { OpenView } from '../view.ts';
import { flagForm } from './flag-form.ts';
import { FlagRow } from './flag-row.ts';

const EVERY_MS = 3_000;

/** Feature flags: switched, rolled out, added and removed here; every worker sees it at once. */
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
  readonly #rows = new Rows<FlagState>(
    this.#body,
    ({ name }) => name,
    (flag) =>
      new FlagRow(flag, {
        variable: this.#variables.get(flag.name),
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

  /** Other people may change flags as well. */
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

  #show({ dictionaries, flags, variables }: FlagPage): void {
    if (dictionaries.length === 0) {
      const text = 'Declare one in the http block: shared_dict_zone zone=feature_flags:1m;';
      return show(this.#card, empty('No dictionary for flags', text));
    }
    this.#variables = new Map(variables.map(({ flag, variable }) => [flag, variable]));
    this.#rows.update(flags);
    this.#table.hidden = flags.length === 0;
    this.#none.hidden = flags.length > 0;
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
