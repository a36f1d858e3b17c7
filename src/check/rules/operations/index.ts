import type { Rule } from '../../rule.ts';
import { errorLogOff } from './error-log-off.ts';
import { keepaliveRequestsLow } from './keepalive-requests-low.ts';
import { gzipTypes } from './gzip-types.ts';
import { logFormatUnsafe } from './log-format-unsafe.ts';
import { secretsLogged } from './secrets-logged.ts';
import { ipHash24 } from './ip-hash-24.ts';
import { servesAsRoot } from './serves-as-root.ts';
import { workerProcessesUnset } from './worker-processes-unset.ts';
import { tmpPathShared } from './tmp-path-shared.ts';

/** Logs, connections and files: GW9xx. */
export const OPERATIONS_RULES: readonly Rule[] = [
  errorLogOff,
  keepaliveRequestsLow,
  gzipTypes,
  logFormatUnsafe,
  secretsLogged,
  ipHash24,
  workerProcessesUnset,
  tmpPathShared,
  servesAsRoot,
];
