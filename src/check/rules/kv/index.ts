import type { Rule } from '../../rule.ts';
import { kvWritePublic } from './write-public.ts';
import { kvDangerous } from './dangerous.ts';
import { kvNoPrefix } from './no-prefix.ts';
import { kvPlainRemote } from './plain-remote.ts';
import { kvKeyVariableEmpty } from './variable-empty.ts';
import { kvEmbeddedMulti } from './embedded-multi.ts';
import { storeUnreachable } from './unreachable.ts';
import { storeRefused } from './refused.ts';
import { storeReadOnly } from './read-only.ts';

/** The key-value store: GW7xx. */
export const KV_RULES: readonly Rule[] = [
  kvWritePublic,
  kvDangerous,
  kvNoPrefix,
  kvPlainRemote,
  kvKeyVariableEmpty,
  kvEmbeddedMulti,
  storeUnreachable,
  storeRefused,
  storeReadOnly,
];
