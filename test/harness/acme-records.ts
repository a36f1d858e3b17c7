import type { KeyObject } from 'node:crypto';
import { bytesOfAddress } from '../../src/x509/index.ts';
import { type Jws, Problem } from './acme-jws.ts';
import { type ReadRequest, readRequest } from './acme-signing.ts';

/** A response. */
export interface Reply {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

export interface Account {
  readonly url: string;
  readonly key: KeyObject;
  readonly thumbprint: string;
  status: string;
  contact: readonly string[];
}

export interface Identifier {
  readonly type: string;
  readonly value: string;
}

export interface Challenge {
  readonly url: string;
  readonly type: string;
  readonly token: string;
  status: string;
  error?: unknown;
}

export interface Authorization {
  readonly url: string;
  readonly account: Account;
  readonly identifier: Identifier;
  readonly isWildcard: boolean;
  status: string;
  readonly challenges: readonly Challenge[];
}

export interface Order {
  readonly url: string;
  readonly account: Account;
  readonly identifiers: readonly Identifier[];
  readonly authorizations: readonly Authorization[];
  readonly profile?: string;
  readonly replaces?: string;
  status: string;
  certificate?: string;
  error?: unknown;
}

/** A certificate that an authority has given out. */
export interface Issued {
  readonly url: string;
  readonly order: Order;
  readonly leaf: Buffer;
  readonly pem: string;
  readonly id: string;
  readonly commonName: string | undefined;
  revoked?: { readonly reason: number | undefined };
}

export const JSON_TYPE = { 'Content-Type': 'application/json' };

export function json(value: unknown): Reply {
  return { status: 200, body: JSON.stringify(value), headers: JSON_TYPE };
}

export function accountReply({ url, status, contact }: Account): Reply {
  return { status: 201, body: JSON.stringify({ status, contact }), headers: { ...JSON_TYPE, Location: url } };
}

export function contentOf({ payload }: Jws): Record<string, unknown> {
  try {
    return JSON.parse(payload) as Record<string, unknown>;
  } catch {
    throw new Problem(400, 'malformed', 'the payload is not JSON');
  }
}

/** POST-as-GET (RFC 8555, 6.3). */
export function mustBeEmpty({ payload }: Jws): void {
  if (payload !== '') throw new Problem(400, 'malformed', 'the payload is not empty');
}

export function owned<T extends { readonly url: string; readonly account: Account }>(
  all: readonly T[],
  url: string,
  account: Account,
): T {
  const found = all.find((one) => one.url === url);
  if (!found) throw new Problem(404, 'malformed', 'no such resource');
  if (found.account !== account) throw new Problem(403, 'unauthorized', 'the resource is of another account');
  return found;
}

export function readCsr(csr: unknown): ReadRequest {
  try {
    return readRequest(Buffer.from(String(csr), 'base64url'));
  } catch (error) {
    throw new Problem(400, 'badCSR', (error as Error).message);
  }
}

/** As `ReadRequest.wanted` has it. */
export function wantedName({ type, value }: Identifier): string {
  return type === 'dns' ? `dns:${value}` : `ip:${bytesOfAddress(value).toString('hex')}`;
}
