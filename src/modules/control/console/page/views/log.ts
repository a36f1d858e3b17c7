import { DATA_PATHS, type EventEntry, type LogPage } from '../../contract.ts';
import { follow } from '../api.ts';
import { h, segmented } from '../dom.ts';
import { bytes, clock, latency, plural } from '../format.ts';
import { chip, toneOf } from '../marks.ts';
import type { OpenView } from '../shell.ts';
import { FeedList } from './feed-list.ts';

const KINDS = [
  ['', 'All'],
  ['error', 'Error log'],
  ['request', 'Requests'],
  ['failed', 'Status ≥ 500'],
] as const;

/** The lowest status of a response that the gateway is to blame for. */
const FIRST_FAILURE = 500;

const TONES: Readonly<Record<string, string>> = {
  warn: 'refused',
  error: 'failed',
  crit: 'failed',
  alert: 'failed',
  emerg: 'failed',
};

/** The view of the last lines of the error log and of recent requests. */
export const openLog: OpenView = ({ signal }) => {
  let kind = '';
  const filter = h('input', {
    type: 'search',
    placeholder: 'Filter by text',
    'aria-label': 'Filter by text',
  });
  const list = new FeedList({
    none: ['Nothing yet', 'Requests and lines of the error log show here as they come.'],
    label: 'Log',
    row: logRow,
    wanted: (entry) => matches(entry, { kind, text: filter.value.toLowerCase() }),
  });
  filter.addEventListener('input', () => list.show());
  const choose = (name: string): void => {
    kind = name;
    list.show();
  };
  void follow<LogPage>(DATA_PATHS.log, { parameters: {}, signal, take: ({ entries }) => list.add(entries) });
  const hint = h(
    'p',
    { class: 'lead' },
    'Kept in memory for all workers: the lines of the error log, up to 20 requests per second and worker, and as many again with a status of 500 or more. Keys and passwords in queries are masked.',
  );
  const toolbar = h(
    'div',
    { class: 'toolbar' },
    segmented({ legend: 'Which lines', name: 'kind', chosen: '', options: KINDS, choose }),
    filter,
    list.pause,
  );
  return { title: 'Log', element: h('div', { class: 'stack' }, hint, toolbar, list.element) };
};

function matches({ channel, type, payload }: EventEntry, wanted: { kind: string; text: string }): boolean {
  if (wanted.kind === 'failed') {
    if (channel !== 'request' || Number(type) < FIRST_FAILURE) return false;
  } else if (wanted.kind !== '' && wanted.kind !== channel) return false;
  return wanted.text === '' || `${type} ${payload ?? ''}`.toLowerCase().includes(wanted.text);
}

function logRow(entry: EventEntry): HTMLElement {
  const { channel, type, payload, timestampMs } = entry;
  const time = h('time', { datetime: new Date(timestampMs).toISOString() }, clock(timestampMs, true));
  if (channel === 'error') {
    return h(
      'li',
      { class: 'log-line' },
      time,
      chip(type, TONES[type] ?? ''),
      h('code', { class: 'payload wrap' }, payload ?? ''),
    );
  }
  if (type === '0') {
    const skipped = plural(Number(payload), 'request').replace(/$/, ' more in that second');
    return h(
      'li',
      { class: 'log-line' },
      time,
      h('span', { class: 'quiet' }, '…'),
      h('span', { class: 'payload quiet' }, skipped),
    );
  }
  // The gateway writes method, milliseconds, bytes, host and target.
  const [method = '', ms = '0', size = '0', host = '', ...target] = (payload ?? '').split(' ');
  const facts = h(
    'span',
    { class: 'generation' },
    `${ms === '0' ? '<1 ms' : latency(Number(ms) / 1000)} · ${bytes(Number(size))} · ${host}`,
  );
  return h(
    'li',
    { class: 'log-line' },
    time,
    chip(type, toneOf(type)),
    h('code', { class: 'payload' }, h('b', {}, method), ` ${target.join(' ')}`),
    facts,
  );
}
