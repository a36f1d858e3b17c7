import type { Rule } from '../../rule.ts';

export const eventsZoneMissing: Rule = {
  id: 'GW804',
  slug: 'events-zone-missing',
  severity: 'error',
  summary: 'worker events without the memory or the channel that they go to',
  why: 'The configuration does not load.',
  fix: 'Name both: worker_events_zone and worker_events_channel.',
  bad: { text: 'location = /events { worker_events_api; worker_events_channel cache; }' },
  good: {
    text: 'location = /events { worker_events_api; worker_events_zone bus; worker_events_channel cache; }',
  },
};
