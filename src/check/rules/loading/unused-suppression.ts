import type { Rule } from '../../rule.ts';

export const unusedSuppression: Rule = {
  id: 'GW121',
  slug: 'unused-suppression',
  severity: 'warning',
  summary: 'an ignore comment that matches nothing',
  why: 'What it ignored has been mended since. Left alone, it would hide the next fault of its kind at this place.',
  fix: 'Delete the comment.',
  bad: { text: '# gw-ignore GW301: the files beside it are public too\nroot /srv/img;' },
  good: {
    text: 'location /i { alias /srv/img/; } # gw-ignore GW301: the files beside it are public too',
  },
};
