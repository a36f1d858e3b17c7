import { describe, test } from 'vitest';
import type { Expected } from '../../../harness/expect-response.ts';
import { type FixtureGateway, fixtureGateway } from '../fixture/gateway.ts';

/** A write, which is undone afterwards, and its response. */
export interface WriteCase {
  readonly it: string;
  /** Method and what follows the prefix, not encoded. */
  readonly call: string;
  /** A string is sent as it is, any other value as JSON. */
  readonly body?: unknown;
  readonly prefer?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expected: Expected;
}

export const ROWS = 'return=representation';

/** The four keys of an error: it has details or a hint. */
export function error(
  code: string,
  message: string | RegExp,
  more: string | null | { readonly hint: string } = null,
): RegExp {
  const text = typeof message === 'string' ? escaped(JSON.stringify(message)) : message.source;
  const isHint = typeof more === 'object' && more !== null;
  const [shown, hinted] = [isHint ? null : more, isHint ? more.hint : null].map((one) =>
    escaped(JSON.stringify(one)),
  );
  return new RegExp(`^\\{"code":"${code}","details":${shown},"hint":${hinted},"message":${text}\\}$`);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The gateway over the fixture: `/try/` undoes each write, `/keep/` does not; both use a role that may write. */
export function writeGateway(): FixtureGateway {
  return fixtureGateway({
    more: `
      location /try/ { dbrest_pass $dsn; dbrest_anon_role web_user; dbrest_tx_end rollback; }
      location /keep/ { dbrest_pass $dsn; dbrest_anon_role web_user; }`,
  });
}

/** Tests under `title` that each write gets its response; all of them are undone. */
export function testWrites(title: string, gateway: FixtureGateway, cases: readonly WriteCase[]): void {
  describe(title, () => {
    test.each(cases)('$it', async ({ call, body, prefer, headers, expected }) => {
      const { gw } = gateway;
      const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
      await gw.expect(encodeURI(call).replaceAll('+', '%2B').replace('%20', ' /try/'), expected, {
        headers: { ...headers, ...(prefer !== undefined && { prefer }) },
        ...(sent !== undefined && { body: sent as string }),
      });
    });
  });
}
