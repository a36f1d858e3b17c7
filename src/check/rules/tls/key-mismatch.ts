import type { Rule } from '../../rule.ts';
import { SHOP } from './shop.ts';

export const keyMismatch: Rule = {
  id: 'GW504',
  slug: 'key-mismatch',
  severity: 'error',
  summary: 'a key that does not belong to its certificate',
  why: 'The configuration does not load: no handshake could succeed.',
  fix: 'Name the key that the certificate was requested with; after a renewal, both files are new.',
  bad: {
    text: SHOP.text,
    files: {
      ...SHOP.files,
      'old.crt': { names: ['shop.example'], days: 90 },
      'shop.key': { keyOf: 'old.crt' },
    },
  },
  good: SHOP,
};
