import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { ReceivedResponse } from '../../harness/http.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { FIXTURE } from './fixture/index.ts';
import { SECRET } from '../../harness/tokens.ts';

/** A gateway with the fixture database behind `/api/`, for the tests of one file. */
export interface Calls {
  readonly gw: Gateway;
  readonly db: TestDatabase;
  /** `GET name?args`, `POST name {"a": 1}`, with its headers; a blank in the path is `%20`. */
  readonly call: (line: string, headers?: Readonly<Record<string, string>>) => Promise<ReceivedResponse>;
}

export function callsOfFile(directives = ''): { readonly it: Calls } {
  const file = wholeFile();
  const opened: { it?: Calls } = {};
  beforeAll(async () => {
    const db = await postgres(FIXTURE);
    const location = `dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}";
      dbrest_schemas "public, archive, Ünï çødé"; dbrest_extra_search_path "public, tools"; ${directives}`;
    const gw = await startGateway(file, `server { location /api/ { ${location} } }`);
    opened.it = { gw, db, call: (line, headers = {}) => send(gw, line, headers) };
  });
  return opened as { it: Calls };
}

function send(
  gw: Gateway,
  line: string,
  headers: Readonly<Record<string, string>>,
): Promise<ReceivedResponse> {
  const [, method = '', target = '', body] = /^(\S+) (\S+)(?: (.*))?$/s.exec(line) ?? [];
  const type = body === undefined || 'content-type' in headers ? {} : { 'content-type': 'application/json' };
  const init = { method, headers: { ...type, ...headers }, ...(body !== undefined && { body }) };
  return gw.fetch(encodeURI(`/api/rpc/${target}`).replaceAll('%25', '%'), init);
}

/** Request line, response (JSON, or text if it is not JSON), headers of the request. */
export type Case = readonly [line: string, response: unknown, headers?: Readonly<Record<string, string>>];

/** Each line gets this response, with status 200. */
export function testResponses(calls: { readonly it: Calls }, cases: readonly Case[]): void {
  for (const [line, expected, headers] of cases) {
    test(`${line} → ${JSON.stringify(expected)}`, async () => {
      const { status, body } = await calls.it.call(line, headers);
      expect({ status, response: parsed(body) }).toEqual({ status: 200, response: expected });
    });
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
