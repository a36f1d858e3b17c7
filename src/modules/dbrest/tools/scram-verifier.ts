import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const ITERATIONS = 4_096;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/**
 * What PostgreSQL stores of a password (RFC 5802, `scram-sha-256`): the password itself then shows in no script and in no
 * log of statements. For ASCII only, which RFC 4013 leaves as it is.
 */
export async function scramVerifier(password: string, salt = randomBytes(SALT_BYTES)): Promise<string> {
  const salted = await promisify(pbkdf2)(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const hmac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(hmac('Client Key')).digest();
  const keys = `${stored.toString('base64')}:${hmac('Server Key').toString('base64')}`;
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${keys}`;
}
