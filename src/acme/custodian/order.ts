import { createPrivateKey, type KeyObject } from 'node:crypto';
import { makeKey, makeRequest } from '../certificates/index.ts';
import type { AcmeCertificate, AcmeIdentifier, AcmeIssuer } from '../plan.ts';
import { type AcmeClient, AcmeFault } from '../protocol/index.ts';
import type { CertificatePair } from '../shared-certificates.ts';
import type { OrderRecord } from './issuer-state.ts';
import { OrderTime } from './order-time.ts';
import { issuerDomainsFault, persistentRecordFault, persistentRecordName } from './persistent-records.ts';
import { type Proof, proofOf, type ProofStore, untilSeen } from './proofs.ts';

type AcmeOrder = Awaited<ReturnType<AcmeClient['newOrder']>>;
type AcmeAuthorization = Awaited<ReturnType<AcmeClient['authorization']>>;
type AcmeChallenge = AcmeAuthorization['challenges'][number];

/** The account that orders. */
export interface Session {
  readonly client: AcmeClient;
  readonly accountUrl: string;
}

/** One order of a certificate. */
interface OrderRequest {
  readonly session: Session;
  readonly issuer: AcmeIssuer;
  readonly certificate: AcmeCertificate;
  /** An order that an earlier start has placed. */
  readonly placed: OrderRecord | undefined;
  /** The present certificate in the form of RFC 9773, 4.1; absent: it is not replaced. */
  readonly replaces: string | undefined;
  readonly store: ProofStore;
  /** Keeps an order across restarts. */
  readonly save: (order: OrderRecord) => Promise<void>;
  readonly forget: () => Promise<void>;
  /** Looks up the TXT records of a name. */
  readonly texts: (name: string) => Promise<readonly string[]>;
  /** Told of what goes wrong without ending the order. */
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/** An order that is under way. */
interface OrderJob extends OrderRequest {
  readonly time: OrderTime;
}

/** The longest time in which the authorizations of an order that has failed are given up. */
const MOST_GIVING_UP_MS = 60_000;
/** The longest time in which the proofs of an order are taken away. */
const MOST_REMOVING_MS = 600_000;

interface PlacedOrder {
  readonly order: AcmeOrder;
  readonly key: KeyObject;
}

/**
 * Gets a certificate: goes on with an order that was placed before, or places one; proves control of its names; fetches the
 * chain. Whether the chain may serve is not looked at. Rejects with an `AcmeFault`, or an error whose message is one line; also
 * when it takes longer than `OrderTime` says. What was placed then is gone on with by the next try.
 */
export async function obtain(asked: OrderRequest): Promise<CertificatePair> {
  const { session, issuer, certificate, nowMs } = asked;
  const { client } = session;
  const time = new OrderTime({ extraMs: issuer.challenge === 'dns-01' ? issuer.dnsWaitMs : 0, nowMs });
  const job = { ...asked, time };
  const { order: first, key } = (await resume(job)) ?? (await place(job));
  let order = first;
  if (order.status === 'pending') {
    await prove(order, job);
    order = await client.untilReady(order, time.left());
  }
  if (order.status === 'ready') {
    const { identifiers } = certificate;
    const request = await makeRequest(identifiers, key, { commonName: issuer.namesInCsr });
    order = await client.finalize(order, request);
  }
  if (order.status !== 'valid') order = await client.untilValid(order, time.left());
  const chain = await client.download(order, { preferredChain: issuer.preferredChain });
  return { chain, key: pemOf(key) };
}

function pemOf(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }));
}

/** Returns the order of an earlier start, if the authority still has it. */
async function resume({ session, placed, forget }: OrderJob): Promise<PlacedOrder | undefined> {
  if (!placed) return undefined;
  try {
    const key = createPrivateKey(placed.key);
    const order = await session.client.order(placed.url);
    const isOver = order.expiresMs !== undefined && order.expiresMs <= Date.now();
    if (order.status !== 'invalid' && !(order.status === 'pending' && isOver)) return { order, key };
  } catch (error) {
    // An authority that is away still has it.
    if (error instanceof AcmeFault && isPassing(error)) throw error;
  }
  await forget();
  return undefined;
}

/** True if the same request may succeed later. */
function isPassing({ kind, status = 0 }: AcmeFault): boolean {
  return kind === 'unreachable' || kind === 'rateLimited' || status >= 500;
}

async function place(job: OrderJob): Promise<PlacedOrder> {
  const { certificate, session, issuer } = job;
  if (issuer.challenge === 'dns-persist-01')
    for (const identifier of certificate.identifiers) {
      job.time.left();
      await checkRecord(identifier, job);
    }
  const key = await makeKey(certificate.key);
  const { identifiers } = certificate;
  const { profile } = issuer;
  const order = await session.client.newOrder({
    identifiers,
    ...(profile && { profile }),
    replaces: job.replaces,
  });
  await job.save({ url: order.url, key: pemOf(key) });
  return { order, key };
}

/** Control of one name that is still to be proved. */
interface OpenProof {
  readonly authorization: AcmeAuthorization;
  readonly challenge: AcmeChallenge;
  readonly proof: Proof;
}

async function prove(order: AcmeOrder, job: OrderJob): Promise<void> {
  const { time, session } = job;
  const { client } = session;
  const open: OpenProof[] = [];
  for (const url of order.authorizations) {
    time.left();
    const authorization = await client.authorization(url);
    if (authorization.status === 'valid') continue;
    const identifier = identifierOf(authorization);
    if (open.some((one) => isSame(identifierOf(one.authorization), identifier)))
      throw new Error(`the authority demands two proofs for "${identifier.value}"`);
    open.push(await proofFor(authorization, job));
  }
  const presented: Proof[] = [];
  try {
    for (const { proof } of open) {
      time.left();
      presented.push(proof);
      await proof.present();
    }
    if (open.length > 0) await untilSeen(job);
    for (const { challenge } of open)
      if (challenge.status === 'pending' && time.left() > 0) await client.accept(challenge);
    for (const { authorization } of open) await client.untilDecided(authorization, time.left());
  } catch (error) {
    if (!job.signal.aborted) await giveUp(open, client);
    throw error;
  } finally {
    await removeAll(presented, job);
  }
}

async function proofFor(authorization: AcmeAuthorization, job: OrderJob): Promise<OpenProof> {
  const { issuer, session } = job;
  const identifier = identifierOf(authorization);
  const { status, challenges } = authorization;
  // Proofs change DNS zones and handshakes: an authority gets none for a name that was not ordered.
  if (!job.certificate.identifiers.some((one) => isSame(one, identifier)))
    throw new Error(`the authority demands a proof for "${identifier.value}", which was not ordered`);
  if (status !== 'pending') throw new Error(`the authorization of "${identifier.value}" is ${status}`);
  const challenge = challenges.find(({ type }) => type === issuer.challenge);
  if (!challenge) {
    const offered = challenges.map(({ type }) => type.slice(0, 40)).join(', ');
    throw new Error(
      `the authority offers no ${issuer.challenge} for "${identifier.value}" (but: ${offered})`,
    );
  }
  if (issuer.challenge === 'dns-persist-01') await checkRecord(identifier, job, challenge);
  const { token } = challenge;
  if (token === '' && issuer.challenge !== 'dns-persist-01')
    throw new Error(`the challenge for "${identifier.value}" has no token`);
  const keyAuthorization = session.client.keyAuthorization(token);
  return { authorization, challenge, proof: proofOf({ identifier, token, keyAuthorization }, job) };
}

/** The authority names a wildcard without its `*.` (RFC 8555, 7.1.4). */
function identifierOf({ identifier, isWildcard }: AcmeAuthorization): AcmeIdentifier {
  return isWildcard ? { ...identifier, value: `*.${identifier.value}` } : identifier;
}

function isSame(one: AcmeIdentifier, other: AcmeIdentifier): boolean {
  return one.type === other.type && one.value === other.value;
}

/** Looks up the record of dns-persist-01: an order that must fail is not placed. */
async function checkRecord(
  identifier: AcmeIdentifier,
  { session, texts }: OrderJob,
  challenge?: AcmeChallenge,
): Promise<void> {
  const { issuerDomainNames } = challenge ?? {};
  const fault = challenge && issuerDomainsFault(issuerDomainNames);
  if (fault !== undefined) throw new Error(fault);
  const records = await texts(persistentRecordName(identifier));
  const { accountUrl } = session;
  const missing = persistentRecordFault(records, {
    identifier,
    accountUrl,
    issuerDomainNames,
    nowMs: Date.now(),
  });
  if (missing !== undefined) throw new Error(missing);
}

/** Authorizations that stay open count against the limits of the account. A slow authority does not get all of them. */
async function giveUp(open: readonly OpenProof[], client: AcmeClient): Promise<void> {
  const endMs = performance.now() + MOST_GIVING_UP_MS;
  for (const { authorization } of open) {
    if (performance.now() > endMs) return;
    try {
      const { status } = await client.authorization(authorization.url);
      if (status === 'pending') await client.deactivate(authorization);
    } catch {
      // They end by themselves, too.
      return;
    }
  }
}

async function removeAll(proofs: readonly Proof[], { warn }: OrderJob): Promise<void> {
  const endMs = performance.now() + MOST_REMOVING_MS;
  for (const [at, proof] of proofs.entries()) {
    if (performance.now() > endMs) {
      warn(`${proofs.length - at} proofs were not taken away: it takes more than ten minutes`);
      return;
    }
    try {
      await proof.remove();
    } catch (error) {
      warn((error as Error).message);
    }
  }
}
