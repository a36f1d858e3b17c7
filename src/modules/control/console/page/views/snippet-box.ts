import { h, setText } from '../dom.ts';
import { plainButton, segmented } from '../inputs.ts';
import { SNIPPETS } from '../rest-call.ts';
import type { RestCall } from '../rest-call.ts';

/** A call as code, for one client at a time, to be copied. */
export class SnippetBox {
  readonly element: HTMLElement;
  readonly #code = h('code');
  readonly #copied = h('span', { class: 'quiet', role: 'status' });
  #chosen = SNIPPETS[0]?.name ?? '';
  #call: RestCall | undefined;

  constructor() {
    const clients = segmented({
      legend: 'Client',
      name: 'client',
      chosen: this.#chosen,
      options: SNIPPETS.map(({ name }) => [name, name]),
      choose: (name) => {
        this.#chosen = name;
        this.#draw();
      },
    });
    const copy = plainButton('Copy', () => void this.#copy());
    this.element = h(
      'section',
      { class: 'card' },
      h('header', { class: 'card-head' }, clients, h('span', { class: 'chips' }, this.#copied, copy)),
      h('pre', { class: 'snippet', tabindex: 0, 'aria-label': 'The call as code' }, this.#code),
    );
  }

  update(call: RestCall): void {
    this.#call = call;
    this.#draw();
  }

  #draw(): void {
    const snippet = SNIPPETS.find(({ name }) => name === this.#chosen);
    setText(this.#code, (this.#call && snippet?.text(this.#call)) ?? '');
    setText(this.#copied, '');
  }

  async #copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.#code.textContent ?? '');
      setText(this.#copied, 'Copied');
    } catch {
      // Browsers give the clipboard to secure origins alone.
      getSelection()?.selectAllChildren(this.#code);
      setText(this.#copied, 'Selected: copy it with the keyboard');
    }
  }
}
