import { DATA_PATHS, type EventEntry, type EventPage } from '../../contract.ts';
import { follow } from '../api.ts';
import { h, setText, show } from '../dom.ts';
import { clock, count } from '../format.ts';
import { chip } from '../marks.ts';
import type { OpenView } from '../shell.ts';
import { FeedList } from './feed-list.ts';

const NONE = [
  'No events yet',
  'Events are shown here as soon as they are published, by any worker.',
] as const;

/** The view of the event rings, updated live. */
export const openEvents: OpenView = ({ signal }) => {
  const zones = h('select', { 'aria-label': 'Ring' });
  const channels = h('select', { 'aria-label': 'Channel' }, h('option', { value: '' }, 'All channels'));
  const filter = h('input', {
    type: 'search',
    placeholder: 'Filter by text',
    'aria-label': 'Filter by text',
  });
  const facts = h('span', { class: 'quiet' });
  const list = new FeedList({
    none: NONE,
    label: 'Events',
    row: eventRow,
    wanted: (entry) => matches(entry, { channel: channels.value, text: filter.value.toLowerCase() }),
  });
  channels.addEventListener('change', () => list.show());
  filter.addEventListener('input', () => list.show());
  let leave = new AbortController();
  const watch = (zone: string): void => {
    leave.abort();
    leave = new AbortController();
    list.clear();
    const take = (page: EventPage): void => {
      list.add(page.entries);
      addChannels(channels, page.entries);
      offer(zones, page);
      setText(
        facts,
        `${count(page.newest)} published, ${count(page.dropped)} overwritten, room for ${count(page.capacity)}`,
      );
    };
    void follow<EventPage>(DATA_PATHS.events, { parameters: { zone }, signal: leave.signal, take });
  };
  zones.addEventListener('change', () => watch(zones.value));
  signal.addEventListener('abort', () => leave.abort());
  watch('');
  const toolbar = h('div', { class: 'toolbar' }, zones, channels, filter, list.pause, facts);
  return { title: 'Events', element: h('div', { class: 'stack' }, toolbar, list.element) };
};

function matches({ channel, type, payload }: EventEntry, wanted: { channel: string; text: string }): boolean {
  if (wanted.channel !== '' && wanted.channel !== channel) return false;
  return wanted.text === '' || `${channel} ${type} ${payload ?? ''}`.toLowerCase().includes(wanted.text);
}

function addChannels(select: HTMLSelectElement, entries: readonly EventEntry[]): void {
  const known = new Set([...select.options].map(({ value }) => value));
  for (const { channel } of entries) {
    if (known.has(channel)) continue;
    known.add(channel);
    select.append(h('option', { value: channel }, channel));
  }
}

function offer(select: HTMLSelectElement, { zones, zone }: EventPage): void {
  if (select.options.length === Math.max(zones.length, 1)) return;
  const none = h('option', { value: '' }, 'No rings');
  show(
    select,
    ...(zones.length === 0
      ? [none]
      : zones.map((name) => h('option', { value: name, selected: name === zone }, name))),
  );
}

function eventRow({ generation, channel, type, payload, timestampMs }: EventEntry): HTMLElement {
  const head = [
    h('time', { datetime: new Date(timestampMs).toISOString() }, clock(timestampMs, true)),
    chip(channel),
    h('b', {}, type),
  ];
  const number = h('span', { class: 'generation' }, `#${generation}`);
  if (payload === null)
    return h('li', { class: 'event' }, ...head, h('span', { class: 'payload quiet' }, 'no payload'), number);
  const pretty = prettyJson(payload);
  if (pretty === undefined)
    return h('li', { class: 'event' }, ...head, h('code', { class: 'payload' }, payload), number);
  return h(
    'li',
    {},
    h(
      'details',
      {},
      h('summary', { class: 'event' }, ...head, h('code', { class: 'payload' }, payload), number),
      h('pre', {}, pretty),
    ),
  );
}

/** Formats JSON objects and lists over several lines; `undefined` for other texts. */
function prettyJson(text: string): string | undefined {
  try {
    const parsed = JSON.parse(text) as unknown;
    return typeof parsed === 'object' && parsed !== null ? JSON.stringify(parsed, null, 2) : undefined;
  } catch {
    return undefined;
  }
}
