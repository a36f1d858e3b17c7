import type { Rule } from '../../rule.ts';
import { eventsPublishOpen } from './publish-open.ts';
import { controlPublic } from './control-public.ts';

/** Worker events and the operator surface: GW8xx. */
export const EVENTS_RULES: readonly Rule[] = [eventsPublishOpen, controlPublic];
