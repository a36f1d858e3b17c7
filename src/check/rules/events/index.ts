import type { Rule } from '../../rule.ts';
import { eventsPublishOpen } from './publish-open.ts';
import { eventsKeyQuery } from './key-query.ts';
import { eventsKeyWeak } from './key-weak.ts';
import { eventsRingSize } from './ring-size.ts';
import { controlPublic } from './control-public.ts';
import { controlNoTls } from './control-no-tls.ts';
import { eventsZoneMissing } from './zone-missing.ts';
import { flagUndefined } from './flag-undefined.ts';
import { flagUnused } from './flag-unused.ts';
import { probeTargetMissing } from './probe-target-missing.ts';
import { healthInAccessLog } from './health-in-access-log.ts';

/** Worker events and the operator surface: GW8xx. */
export const EVENTS_RULES: readonly Rule[] = [
  eventsPublishOpen,
  eventsKeyQuery,
  eventsKeyWeak,
  eventsZoneMissing,
  eventsRingSize,
  controlPublic,
  controlNoTls,
  flagUndefined,
  flagUnused,
  probeTargetMissing,
  healthInAccessLog,
];
