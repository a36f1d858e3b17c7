import { execFileSync } from 'node:child_process';
import { verify as bcrypt } from '@node-rs/bcrypt';
import fc from 'fast-check';
import { encrypt as shaCrypt } from 'unixcrypt';
import { expect, test } from 'vitest';
import { atMost, Verifier, verifyPassword } from '../../../src/modules/auth_basic/password/verifier.ts';
import { computeCrypt } from '../../../src/modules/auth_basic/password/crypt.ts';

const LIBRARIES = {
  bcrypt,
  crypt: (password: Buffer, stored: string) => Promise.resolve(computeCrypt(password, stored, shaCrypt)),
};

/** The result of crypt(3) of this machine for a password. */
function crypt(password: string, setting: string): string {
  return execFileSync('perl', ['-e', 'print crypt($ARGV[0], $ARGV[1])', password, setting], {
    encoding: 'latin1',
  });
}

const passwords = ['', 'a', 'secret', 'longer than eight bytes', 'größe', '$1$', 'x'.repeat(70)];
const settings = [
  '$1$abc$',
  '$1$longsaltlongsalt$',
  '$5$salt$',
  '$6$salt$',
  '$6$rounds=1000$salt$',
  '$2a$04$abcdefghijklmnopqrstuu',
  '$2b$04$abcdefghijklmnopqrstuu',
  '$2y$04$abcdefghijklmnopqrstuu',
];
for (const setting of settings) {
  test(`a password stored by crypt(3) with ${setting} is recognised, and no other`, async () => {
    for (const password of passwords) {
      const stored = crypt(password, setting);
      expect(await verifyPassword(Buffer.from(password), stored, LIBRARIES), password).toBe(true);
      expect(await verifyPassword(Buffer.from(`!${password}`), stored, LIBRARIES), password).toBe(false);
    }
  });
}

const forms = [
  { stored: '{PLAIN}secret', is: true },
  { stored: '{PLAIN}Secret', is: false },
  { stored: '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=', is: true },
  { stored: '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ', is: false },
  { stored: '{SSHA}', is: false },
  { stored: '$apr1$saltsalt$9VcfGxhRMPRTSS9kCgHsZ0', is: false },
  { stored: '', is: undefined },
  { stored: 'secret', is: undefined },
  { stored: '{MD5}secret', is: undefined },
  { stored: '$y$j9T$abc$def', is: undefined },
  { stored: '$6$bad!salt$x', is: undefined },
  { stored: '$6$rounds=1000001$salt$x', is: undefined },
  { stored: '$2y$04$short', is: false },
  { stored: '*0', is: undefined },
  // DES crypt of "secret".
  { stored: 'abNANd1rDfiNc', is: undefined },
];
for (const { stored, is } of forms) {
  test(`"secret" stored as "${stored}": ${is}`, async () => {
    expect(await verifyPassword(Buffer.from('secret'), stored, LIBRARIES)).toBe(is);
  });
}

test('a password beyond the length limit is not checked', async () => {
  const stored = (bytes: number): string => `{PLAIN}${'x'.repeat(bytes)}`;
  expect(await verifyPassword(Buffer.alloc(512, 'x'), stored(512), LIBRARIES)).toBe(true);
  expect(await verifyPassword(Buffer.alloc(513, 'x'), stored(513), LIBRARIES)).toBe(false);
});

test('a password with a zero byte is refused, and one that is not UTF-8 is compared by its bytes', async () => {
  const sixes = crypt('\ufffd', '$6$salt$');
  expect(await verifyPassword(Buffer.from([0xff]), sixes, LIBRARIES)).toBe(false);
  expect(verifyPassword(Buffer.from('secret\0'), '{PLAIN}secret', LIBRARIES)).toBe(false);
  expect(verifyPassword(Buffer.from([0xff]), '{PLAIN}\xff', LIBRARIES)).toBe(true);
});

test('any text as a stored password neither makes the check fail nor accepts a wrong password', async () => {
  const stored = fc.oneof(
    fc.string(),
    fc
      .tuple(
        fc.constantFrom('$1$', '$apr1$', '$5$', '$6$', '$2y$', '{SSHA}', '{SHA}', '$5$rounds='),
        fc.string(),
      )
      .map((parts) => parts.join('')),
  );
  await fc.assert(
    fc.asyncProperty(stored, async (form) => {
      expect(await verifyPassword(Buffer.from('guess'), form, LIBRARIES)).not.toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('a slow hash is computed once for simultaneous checks, and not again after a success', async () => {
  let computed = 0;
  const verifier = new Verifier({
    ...LIBRARIES,
    bcrypt: (password) => {
      computed++;
      return Promise.resolve(Buffer.from(password).toString() === 'secret');
    },
  });
  const verify = (password: string, stored = '$2y$1') => verifier.verify(Buffer.from(password), stored);
  expect(await Promise.all([verify('secret'), verify('secret'), verify('wrong')])).toEqual([
    'right',
    'right',
    'wrong',
  ]);
  expect(computed).toBe(2);
  expect(verify('secret')).toBe('right');
  expect(computed).toBe(2);
  expect(await verify('wrong')).toBe('wrong');
  expect(await verify('secret', '$2y$2')).toBe('right');
  expect(computed).toBe(4);
});

test('the number of waiting checks is bounded', async () => {
  let finish = (): void => undefined;
  const waiting = new Promise<boolean>((resolve) => (finish = () => resolve(true)));
  const verifier = new Verifier({ ...LIBRARIES, bcrypt: () => waiting });
  const asked = Array.from({ length: 64 }, (_, n) => verifier.verify(Buffer.from(`${n}`), '$2y$'));
  expect(verifier.verify(Buffer.from('one more'), '$2y$')).toBe('busy');
  expect(verifier.verify(Buffer.from('0'), '$2y$')).toBe(asked[0]);
  finish();
  expect(await Promise.all(asked.map((outcome) => Promise.resolve(outcome)))).toEqual(
    Array(64).fill('right'),
  );
  expect(await verifier.verify(Buffer.from('one more'), '$2y$')).toBe('right');
});

test('a limited number of checks run in the thread pool at a time, in the order of their start', async () => {
  const running: number[] = [];
  const finish = new Map<number, (how: 'well' | 'badly') => void>();
  const act = atMost(2, (n: number) => {
    running.push(n);
    return new Promise<number>((resolve, reject) => {
      finish.set(n, (how) => (how === 'well' ? resolve(n) : reject(new Error(`${n}`))));
    });
  });
  const all = [1, 2, 3, 4].map((n) => act(n).catch(({ message }: Error) => `failed ${message}`));
  expect(running).toEqual([1, 2]);
  finish.get(2)?.('badly');
  expect(await all[1]).toBe('failed 2');
  await expect.poll(() => running).toEqual([1, 2, 3]);
  finish.get(1)?.('well');
  finish.get(3)?.('well');
  await expect.poll(() => running).toEqual([1, 2, 3, 4]);
  finish.get(4)?.('well');
  expect(await Promise.all(all)).toEqual([1, 'failed 2', 3, 4]);
  void act(5);
  void act(6);
  expect(running).toEqual([1, 2, 3, 4, 5, 6]);
});
