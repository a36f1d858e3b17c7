import type { Example } from '../../rule.ts';

/** A server over TLS, for the examples. */
export const SHOP = {
  text: 'listen 127.0.0.1:8443 ssl;\nserver_name shop.example;\nssl_certificate shop.crt;\nssl_certificate_key shop.key;',
  files: {
    'shop.crt': { names: ['shop.example'], days: 90 },
    'shop.key': { keyOf: 'shop.crt' },
  },
} as const satisfies Example;
