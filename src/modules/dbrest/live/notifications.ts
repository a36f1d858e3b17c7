import { dataLines, beginStream, EventStream, firstGeneration, type Feed } from '../../../event-streams.ts';
import type { Exchange } from '../../../http/index.ts';
import { badStreamQuery, notListening } from '../fault/index.ts';
import { readNotification, type RingNotification } from '../database/index.ts';

/** Frames of larger rings are not kept beyond this number: one has at most some 8 KB. */
const MOST_KEPT = 1_024;

/** A notification in the form in which streams send it; without a channel it concerns all of them. */
interface Frame {
  readonly generation: number;
  readonly channel: string | undefined;
  readonly text: string;
}

/** The notifications of a ring as frames, which one worker makes once for all streams. */
export class NotificationFrames {
  readonly feed: Feed;
  readonly #kept: (Frame | undefined)[] = [];

  constructor(feed: Feed) {
    this.feed = feed;
  }

  /** Gives the frame at a generation; `undefined` as `StreamSource.frameOf`. */
  at(generation: number): Frame | undefined {
    const slot = generation % MOST_KEPT;
    const kept = this.#kept[slot];
    if (kept?.generation === generation) return kept;
    const read = readNotification(this.feed.ring, generation);
    return read && (this.#kept[slot] = { generation, ...frameOf(generation, read) });
  }
}

function frameOf(generation: number, read: RingNotification): Omit<Frame, 'generation'> {
  switch (read.kind) {
    case 'notification': {
      const { channel, payload } = read;
      return { channel, text: `id: ${generation}\nevent: ${channel}\n${dataLines(payload)}\n` };
    }
    case 'gap':
      // How many were missed is not known.
      return { channel: undefined, text: `id: ${generation}\nevent: dropped\ndata: {"dropped":null}\n\n` };
    case 'other':
      return { channel: undefined, text: '' };
  }
}

/** Reads `channel=` of a query, which may be repeated; without it all channels count. Throws DBREST125. */
export function wantedChannels(args: string, channels: readonly string[]): ReadonlySet<string> {
  const wanted = new URLSearchParams(args).getAll('channel');
  const unknown = wanted.find((channel) => !channels.includes(channel));
  if (unknown !== undefined) throw badStreamQuery(`"${unknown}" is no channel of this location`);
  return new Set(wanted.length > 0 ? wanted : channels);
}

/**
 * Opens a stream of notifications. Gives `undefined` where no body is sent. Throws DBREST124 and DBREST125.
 */
export function openNotifications(
  x: Exchange,
  channels: ReadonlySet<string>,
  frames: NotificationFrames,
): EventStream | undefined {
  const { feed } = frames;
  const range = feed.ring.range();
  if (!range) throw notListening();
  const lastId = x.header('last-event-id');
  if (lastId !== undefined && !/^\d{1,15}$/.test(lastId))
    throw badStreamQuery('Last-Event-ID is not the id of an event of this stream');
  const out = beginStream(x);
  if (!out) return undefined;
  const since = lastId === undefined ? undefined : Number(lastId);
  return new EventStream(feed, out, {
    from: firstGeneration(since, range.newest),
    frameOf(generation) {
      const frame = frames.at(generation);
      if (!frame) return undefined;
      return frame.channel === undefined || channels.has(frame.channel) ? frame.text : '';
    },
  });
}
