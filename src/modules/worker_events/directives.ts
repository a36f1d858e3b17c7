import type { Word } from '../../../grammar/index.ts';
import { directivesFor, readers, shares } from '../../config/index.ts';
import type { ReadScope } from '../../config/index.ts';
import { DEFAULT_RING_SIZE, MAX_RING_SIZE } from './config.ts';
import type { EventZone, WorkerEventsConfig } from './config.ts';

/** The rows of the contract page's list "Directives". */
export const directives = directivesFor<WorkerEventsConfig>()({
  worker_events_api: {
    contexts: ['location'],
    args: readers.present,
    into: 'api',
    inherit: false,
    summary: 'Answers with the events of a ring in shared memory, publishes into it, and streams it.',
    source: 'gw',
  },
  worker_events_zone: {
    contexts: ['location'],
    args: readers.words({ syntax: 'name [size]', min: 1, max: 2 }, readZone),
    into: 'zone',
    summary: 'The shared memory that holds the ring; every location that names it shares the ring.',
    roles: shares('event ring'),
    source: 'gw',
  },
  worker_events_channel: {
    contexts: ['location'],
    args: readers.text,
    into: 'channel',
    summary: 'The channel that events published here carry and that is shown by default; 1 to 64 bytes.',
    source: 'gw',
  },
  worker_events_ring_size: {
    contexts: ['location'],
    args: readers.integer({ min: 1, max: MAX_RING_SIZE }),
    into: 'ringSize',
    defaultText: String(DEFAULT_RING_SIZE),
    summary: 'Entries that the ring keeps; a new event then overwrites the oldest.',
    source: 'gw',
  },
  worker_events_publish_key: {
    contexts: ['location'],
    args: readers.value,
    into: 'publishKey',
    secret: 'whole',
    summary: 'The secret that a POST must carry, as header "X-Publish-Key" or as parameter "key".',
    source: 'gw',
  },
  worker_events_stream: {
    contexts: ['location'],
    args: readers.flag,
    into: 'stream',
    default: true,
    defaultText: 'on',
    summary: 'Streams new events to a GET that accepts "text/event-stream".',
    source: 'gw',
  },
});

function readZone(words: readonly Word[], scope: ReadScope): EventZone {
  const [name, size] = words as [Word, Word?];
  if (name.value === '') scope.report.emerg('invalid zone name ""', name.span);
  const sizeBytes = size && readers.size.read([size], scope);
  return { name: name.value, ...(sizeBytes !== undefined && { sizeBytes }) };
}
