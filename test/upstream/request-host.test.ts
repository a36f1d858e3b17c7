import { expect, test } from 'vitest';
import { readRequestHost, ResolveFault } from '../../src/upstream/index.ts';

const hosts = [
  ['a.example', { host: 'a.example' }],
  ['A_b-c.example.:8080', { host: 'A_b-c.example.', port: 8080 }],
  ['10.0.0.1:1', { host: '10.0.0.1', port: 1 }],
  ['[::1]', { host: '[::1]' }],
  ['[2001:DB8::1]:65535', { host: '[2001:DB8::1]', port: 65_535 }],
] as const;

for (const [text, host] of hosts) {
  test(`a request may name ${text}`, () => expect(readRequestHost(text)).toEqual(host));
}

const refused = [
  ['unix:/run/secret.sock', 'may not name a unix socket by variables'],
  ['UNIX:/run/secret.sock', 'may not name a unix socket by variables'],
  ['trusted.example@10.0.0.1', 'may not carry a login by variables'],
  ['', 'invalid host in upstream ""'],
  [':80', 'invalid host in upstream ":80"'],
  ['a b', 'invalid host in upstream "a b"'],
  ['a/b', 'invalid host in upstream "a/b"'],
  ['a\r\nb', 'invalid host in upstream'],
  ['a%2f', 'invalid host in upstream "a%2f"'],
  ['::1', 'invalid host in upstream "::1"'],
  ['[::1', 'invalid host in upstream "[::1"'],
  ['a:', 'invalid host in upstream "a:"'],
  ['a:0', 'invalid port in upstream "a:0"'],
  ['a:65536', 'invalid port in upstream "a:65536"'],
  [`${'a'.repeat(256)}`, 'invalid host in upstream'],
] as const;

for (const [text, message] of refused) {
  test(`a request may not name ${JSON.stringify(text).slice(0, 40)}`, () => {
    const fault = readRequestHost(text);
    expect(fault).toBeInstanceOf(ResolveFault);
    expect((fault as ResolveFault).message).toContain(message);
  });
}
