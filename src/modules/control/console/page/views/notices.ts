import { h } from '../dom.ts';
import { ago, plural } from '../format.ts';
import type { Seen } from '../live.ts';

/** What an operator should know before anything else; nothing when all is well. */
export function notices({ gateway, configuration, nowMs }: Seen): readonly HTMLElement[] {
  const { isNewest, loadedMs, findings } = configuration;
  const told: HTMLElement[] = [];
  if (gateway.draining)
    told.push(notice('failed', 'The gateway is about to stop: it finishes what it has begun.'));
  if (!isNewest) {
    const text = `The last reload was refused: the configuration loaded ${ago(loadedMs, nowMs)} goes on. See the log.`;
    told.push(notice('failed', text));
  }
  if (findings.warn > 0) {
    const link = h('a', { href: '#config' }, 'the configuration');
    told.push(notice('refused', `The load left ${plural(findings.warn, 'warning')}: see `, link, '.'));
  }
  return told;
}

function notice(tone: string, ...content: readonly (string | Node)[]): HTMLElement {
  return h('p', { class: `notice ${tone}` }, ...content);
}
