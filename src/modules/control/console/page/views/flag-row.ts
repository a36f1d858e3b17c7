import type { FlagChange, FlagState } from '../../contract.ts';
import { h, setText } from '../dom.ts';
import type { Row } from '../dom.ts';
import { span } from '../format.ts';
import { plainButton } from '../inputs.ts';

/** A flag with its switch and its rollout. */
export class FlagRow implements Row<FlagState> {
  readonly element: HTMLElement;
  readonly #switch: HTMLElement;
  readonly #range: HTMLInputElement;
  readonly #share = h('output');
  readonly #expires = h('td', { class: 'quiet' });
  readonly #change: (change: FlagChange) => void;
  #state: FlagState;

  constructor(
    flag: FlagState,
    { variable, change }: { variable: string | undefined; change: (change: FlagChange) => void },
  ) {
    const { name } = flag;
    this.#state = flag;
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
    const note = variable !== undefined && h('small', {}, `decides $${variable}`);
    this.element = h(
      'tr',
      {},
      h('th', { scope: 'row' }, h('code', {}, name), note),
      h('td', {}, this.#switch),
      h('td', { class: 'rollout' }, h('span', {}, this.#range, this.#share)),
      this.#expires,
      h(
        'td',
        { class: 'end' },
        plainButton('Remove', () => change({ unset: name }), `Remove ${name}`),
      ),
    );
  }

  update(flag: FlagState): void {
    this.#state = flag;
    this.#switch.setAttribute('aria-checked', String(flag.enabled));
    if (document.activeElement !== this.#range) this.#range.value = String(flag.rolloutPct);
    setText(this.#share, `${flag.rolloutPct} %`);
    setText(this.#expires, flag.ttlS === 0 ? 'never' : `in ${span(flag.ttlS)}`);
  }

  #set(changed: Partial<FlagState>): void {
    this.#change({ set: { ...this.#state, ...changed } });
  }
}
