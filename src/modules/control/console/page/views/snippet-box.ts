import { h, setText } from '../dom.ts';
import { SNIPPETS } from '../rest-call.ts';
import type { RestCall } from '../rest-call.ts';

/** The call as code, one client at a time, to be copied. */
export function snippetBox(): { readonly element: HTMLElement; update(call: RestCall): void } {
  const code = h('code');
  const copied = h('span', { class: 'quiet', role: 'status' });
  let chosen = SNIPPETS[0];
  let last: RestCall | undefined;
  const draw = (): void => {
    if (last && chosen) setText(code, chosen.text(last));
    setText(copied, '');
  };
  const radios = SNIPPETS.map((snippet) =>
    h(
      'label',
      {},
      h('input', {
        type: 'radio',
        name: 'snippet',
        checked: snippet === chosen,
        onchange: () => {
          chosen = snippet;
          draw();
        },
      }),
      h('span', {}, snippet.name),
    ),
  );
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(code.textContent ?? '');
      setText(copied, 'Copied');
    } catch {
      // Browsers give the clipboard to secure origins alone.
      getSelection()?.selectAllChildren(code);
      setText(copied, 'Selected: copy it with the keyboard');
    }
  };
  const element = h(
    'section',
    { class: 'card' },
    h(
      'header',
      { class: 'card-head' },
      h('fieldset', { class: 'segmented' }, h('legend', { class: 'unseen' }, 'Client'), ...radios),
      h(
        'span',
        { class: 'chips' },
        copied,
        h('button', { type: 'button', class: 'plain', onclick: () => void copy() }, 'Copy'),
      ),
    ),
    h('pre', { class: 'snippet', tabindex: 0, 'aria-label': 'The call as code' }, code),
  );
  return {
    element,
    update(call) {
      last = call;
      draw();
    },
  };
}
