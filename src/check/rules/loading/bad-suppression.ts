import type { Rule } from '../../rule.ts';

export const badSuppression: Rule = {
  id: 'GW123',
  slug: 'bad-suppression',
  severity: 'warning',
  summary: 'an ignore comment without a reason, or for a rule that does not exist',
  why: 'It ignores nothing. And whoever reads it later cannot tell whether it may go.',
  fix: 'Name the rule and say why it is meant: "# gw-ignore GW304: the header is set by the upstream".',
  bad: { text: '# gw-ignore GW304\nroot /srv/img;' },
  good: { text: 'location /i { alias /srv/img/; } # gw-ignore GW301: the files beside it are public' },
};
