import type { FlagState } from '../../contract.ts';
import { h } from '../dom.ts';
import { primaryButton, textInput } from '../inputs.ts';

const LIFETIMES = [
  [0, 'Never expires'],
  [3_600, 'One hour'],
  [86_400, 'One day'],
  [604_800, 'One week'],
] as const;

/** A new flag, or an old one anew. `set` tells whether it was taken. */
export function flagForm(set: (flag: FlagState) => Promise<boolean>): HTMLElement {
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
