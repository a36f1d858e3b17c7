import type { Rule } from '../../rule.ts';
import { MATCHING_RULES } from './matching.ts';
import { duplicateLocation } from './duplicate-location.ts';
import { regexInPrefix } from './regex-in-prefix.ts';
import { duplicateServerName } from './duplicate-server-name.ts';
import { noDefaultServer } from './no-default-server.ts';
import { ifIsEvil } from './if-is-evil.ts';
import { tryFilesProxy } from './try-files-proxy.ts';
import { rewriteLoop } from './rewrite-loop.ts';
import { serverIfHost } from './server-if-host.ts';
import { mapNoDefault } from './map-no-default.ts';
import { listenConflict } from './listen-conflict.ts';
import { mixedCaseVariable } from './mixed-case-variable.ts';
import { namedLocationUnused } from './named-location-unused.ts';
import { suspiciousServerName } from './suspicious-server-name.ts';

/** Which server and location answers: GW2xx. */
export const ROUTING_RULES: readonly Rule[] = [
  ...MATCHING_RULES,
  duplicateLocation,
  regexInPrefix,
  duplicateServerName,
  noDefaultServer,
  ifIsEvil,
  tryFilesProxy,
  rewriteLoop,
  serverIfHost,
  mapNoDefault,
  listenConflict,
  mixedCaseVariable,
  namedLocationUnused,
  suspiciousServerName,
];
