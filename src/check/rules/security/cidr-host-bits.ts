import type { Rule } from '../../rule.ts';

export const cidrHostBits: Rule = {
  id: 'GW325',
  slug: 'cidr-host-bits',
  severity: 'warning',
  summary: 'a network whose address has bits behind its mask',
  why: 'They are ignored: the network is larger than the address suggests.',
  fix: 'Write the first address of the network, or the mask of one address (/32, /128).',
  bad: { in: 'location', text: 'allow 10.0.0.5/8;\ndeny all;' },
  good: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;' },
};
