import { h } from '../dom.ts';
import { latency } from '../format.ts';
import { chip, toneOf } from '../marks.ts';
import { headersOf, urlOf } from '../rest-call.ts';
import type { RestCall } from '../rest-call.ts';

const MAX_SHOWN = 200_000;

/** Sends a call; what came back, to be shown. */
export async function answerTo(call: RestCall): Promise<readonly Node[]> {
  const startedMs = performance.now();
  try {
    const { method, body } = call;
    const init = { method, headers: headersOf(call), ...(body !== '' && { body }) };
    const response = await fetch(urlOf(call), init);
    const text = await response.text();
    const range = response.headers.get('content-range');
    const facts = [latency((performance.now() - startedMs) / 1000), range && `rows ${range}`].filter(Boolean);
    const status = String(response.status);
    return [
      h(
        'p',
        { class: 'answer-head' },
        chip(status, toneOf(status)),
        h('span', {}, response.statusText),
        h('span', { class: 'quiet' }, facts.join(' · ')),
      ),
      h('pre', { tabindex: 0, 'aria-label': 'Answer' }, pretty(text)),
    ];
  } catch (error) {
    return [h('p', { class: 'notice failed' }, (error as Error).message)];
  }
}

function pretty(text: string): string {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: as it came.
  }
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}\n…` : shown;
}
