import type { PeersDeclaration, ZoneKind } from '../declaration.ts';
import { MAX_ZONE_BYTES, VERSION_WORD } from '../layout.ts';
import { MAX_THREAD_ID } from '../lock.ts';
import {
  PEERS_MAGIC,
  PEERS_VERSION,
  REQUESTS,
  SLOTS_WORD,
  USES,
  cellAt,
  peersBytes,
  slotAt,
} from './layout.ts';

/** Peers of an upstream. */
export const peersKind: ZoneKind<PeersDeclaration> = {
  magic: PEERS_MAGIC,
  bytes: ({ slots }) => peersBytes(slots),

  fault({ name, slots }) {
    if (peersBytes(slots) <= MAX_ZONE_BYTES) return undefined;
    return `zone "${name}" is too large: ${slots} peers need ${peersBytes(slots)} bytes, at most ${MAX_ZONE_BYTES} are allowed`;
  },

  conflict: (later, earlier) =>
    later.slots === earlier.slots ? undefined : `zone "${later.name}" is already declared with another size`,

  format(buffer, { slots }) {
    const words = new Int32Array(buffer);
    words[VERSION_WORD] = PEERS_VERSION;
    words[SLOTS_WORD] = slots;
  },

  keeps: (buffer, { slots }) => {
    const words = new Int32Array(buffer);
    return words[VERSION_WORD] === PEERS_VERSION && words[SLOTS_WORD] === slots;
  },

  // Weights and failures may miss what the dead thread was about to write: they recover by themselves.
  repair: () => undefined,

  leave(buffer, threadId) {
    if (threadId > MAX_THREAD_ID) return;
    const words = new Int32Array(buffer);
    const slots = words[SLOTS_WORD] as number;
    for (let index = 0; index < slots; index++) {
      const cell = cellAt(slots, { threadId, index });
      Atomics.sub(words, slotAt(index) + USES, Atomics.exchange(words, cell, 0));
      Atomics.sub(words, slotAt(index) + REQUESTS, Atomics.exchange(words, cell + 1, 0));
    }
  },
};
