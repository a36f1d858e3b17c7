import type { DictionaryDeclaration, ZoneKind } from '../declaration.ts';
import { MAX_ZONE_BYTES, VERSION_WORD, memoryOf } from '../layout.ts';
import {
  BLOCKS_WORD,
  BLOCK_BYTES,
  BUCKETS_WORD,
  DICTIONARY_MAGIC,
  DICTIONARY_VERSION,
  MIN_DICTIONARY_BYTES,
  geometryOf,
} from './layout.ts';
import { rebuild, repairDictionary } from './rebuild.ts';

/** Dictionaries (shared_dict_zone). */
export const dictionaryKind: ZoneKind<DictionaryDeclaration> = {
  magic: DICTIONARY_MAGIC,
  bytes: ({ sizeBytes }) => sizeBytes - (sizeBytes % BLOCK_BYTES),

  fault({ name, sizeBytes }) {
    if (sizeBytes < MIN_DICTIONARY_BYTES)
      return `zone "${name}" is too small: a dictionary needs at least ${MIN_DICTIONARY_BYTES} bytes, ${sizeBytes} given`;
    if (sizeBytes > MAX_ZONE_BYTES)
      return `zone "${name}" is too large: at most ${MAX_ZONE_BYTES} bytes are allowed, ${sizeBytes} given`;
    return undefined;
  },

  conflict(later, earlier) {
    if (later.sizeBytes === earlier.sizeBytes) return undefined;
    return `size ${later.sizeBytes} of zone "${later.name}" conflicts with already declared size ${earlier.sizeBytes}`;
  },

  format(buffer, { sizeBytes }) {
    const memory = memoryOf(buffer);
    const { blocks, buckets } = geometryOf(sizeBytes);
    memory.u32[VERSION_WORD] = DICTIONARY_VERSION;
    memory.u32[BLOCKS_WORD] = blocks;
    memory.u32[BUCKETS_WORD] = buckets;
    rebuild(memory);
  },

  keeps: (buffer) => new Uint32Array(buffer)[VERSION_WORD] === DICTIONARY_VERSION,
  repair: (buffer) => repairDictionary(memoryOf(buffer)),
};
