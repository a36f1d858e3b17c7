import { isUtf8 } from 'node:buffer';
import { hash, timingSafeEqual } from 'node:crypto';
import { type ComplexValue, constantText } from '../../config/index.ts';
import type { OpenCluster } from '../../cluster/index.ts';
import type { Build } from '../../contract/index.ts';
import { type Exchange, type Handler, isOwnName, type KnowsHost } from '../../http/index.ts';
import { EVENT_LIMITS, type Ring } from '../../zone/index.ts';
import type { EndpointConfig } from './directives.ts';
import { parseQuery, refuse, refuseBusy } from './query.ts';

const HEADER = 'x-publish-key';

/**
 * Compiles the check of the publish key: in the header, in the parameter `key`, or in both. A repeated key is refused,
 * and so is every key if the configured one is empty. The comparison takes constant time.
 */
export function compileKeyCheck(key: ComplexValue, build: Build): (x: Exchange) => boolean {
  build.needHeader(HEADER);
  const constant = constantText(key);
  const digest = constant === undefined ? undefined : sha256(constant);
  const render = build.value(key);
  return (x) => {
    const expected = digest ?? variableDigest(render(x));
    const given = givenKeys(x);
    return (
      expected !== undefined &&
      given.length > 0 &&
      given.every((text) => timingSafeEqual(sha256(text), expected))
    );
  };
}

function variableDigest(secret: string): Buffer | undefined {
  return secret === '' ? undefined : sha256(secret);
}

function givenKeys(x: Exchange): string[] {
  const inQuery = (parseQuery(x.args) ?? []).filter(([name]) => name === 'key').map(([, value]) => value);
  if (inQuery.length > 1) return [];
  const inHeader = x.header(HEADER);
  return inHeader === undefined ? inQuery : [...inQuery, inHeader];
}

// Keys are hashed first: timingSafeEqual needs equal lengths, and the length of the secret must not leak either.
function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

const MAX_BODY_BYTES = 64 * 1024;
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** The ring, the cluster that shares it, and the names of the gateway. */
interface PublishScope {
  readonly ring: Ring;
  readonly cluster: OpenCluster | undefined;
  readonly knowsHost: KnowsHost;
}

/** Compiles POST: publishes `{"type","payload"}` under the location's channel. */
export function compilePublish(
  config: EndpointConfig,
  { ring, cluster, knowsHost }: PublishScope,
  build: Build,
): Handler {
  const { publishKey, channel } = config;
  const mayPublish = publishKey ? compileKeyCheck(publishKey, build) : () => true;
  const isForeign = publishKey ? () => false : compileForeign(knowsHost, build);
  const responseText = compileResponse(config);
  build.needHeader('content-type');

  const awaited = config.zone.cluster?.acknowledged === true ? cluster : undefined;

  const publish = (x: Exchange, body: Buffer): void | Promise<void> => {
    const event = readEvent(body);
    if (typeof event === 'string') return refuse(x, 400, event);
    const published = ring.publish({ channel, type: event.type, payload: event.payload });
    if (!published) return refuseBusy(x);
    const text = responseText(published.generation, published.evicted);
    if (!awaited) return x.send(200, 'application/json', text);
    return awaited.events.acknowledged(ring, published.generation).then((isStored) => {
      if (x.aborted) return;
      if (isStored) return x.send(200, 'application/json', text);
      x.response.setHeader('Retry-After', '1');
      refuse(x, 503, 'the store of the cluster has not taken the event in time; it may still take it');
    });
  };
  return (x) => {
    if (!mayPublish(x)) return refuse(x, 401, 'unauthorized: the publish key is missing or wrong');
    if (isForeign(x)) return refuse(x, 403, `"${x.request.host}" is no name of this server`);
    if (!JSON_TYPE.test(x.header('content-type') ?? '')) {
      return refuse(x, 415, 'content-type must be application/json');
    }
    // Without a body, the response has been sent already or the client has gone.
    return x.readBody(MAX_BODY_BYTES).then((body) => (body ? publish(x, body) : undefined));
  };
}

/**
 * Compiles the test for DNS rebinding: a page of a foreign name that resolves to gw is same-origin for its browser.
 * Only pages send an `Origin` with POST, and they do not know a key; pages of other sites need a preflight request
 * before they can send JSON.
 */
function compileForeign(knowsHost: KnowsHost, build: Build): (x: Exchange) => boolean {
  build.needHeader('origin');
  return (x) => x.header('origin') !== undefined && !isOwnName(x.request.host, knowsHost);
}

function compileResponse({
  zone,
  channel,
}: EndpointConfig): (generation: number, evicted: boolean) => string {
  const start =
    `{"module":"worker_events","status":"published","zone":${JSON.stringify(zone.name)},` +
    `"channel":${JSON.stringify(channel)},"generation":`;
  return (generation, evicted) => `${start}${generation},"retention_evicted":${evicted}}`;
}

/** Reads type and payload from a body; a text describes the fault. */
function readEvent(body: Buffer): { type: string; payload: string | undefined } | string {
  const parsed = parseObject(body);
  if (typeof parsed === 'string') return parsed;
  const { type, payload } = parsed;
  if (type === undefined) return 'type is missing';
  if (typeof type !== 'string') return 'type must be a string';
  if (type === '') return 'type must not be empty';
  if (Buffer.byteLength(type) > EVENT_LIMITS.typeBytes) return `type exceeds ${EVENT_LIMITS.typeBytes} bytes`;
  if (payload === undefined) return { type, payload };
  if (typeof payload !== 'string') return 'payload must be a string';
  if (Buffer.byteLength(payload) > EVENT_LIMITS.payloadBytes) {
    return `payload exceeds ${EVENT_LIMITS.payloadBytes} bytes`;
  }
  return { type, payload };
}

function parseObject(body: Buffer): { type?: unknown; payload?: unknown } | string {
  if (!isUtf8(body)) return 'body is not valid JSON';
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString());
  } catch {
    return 'body is not valid JSON';
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return 'body must be a JSON object';
  }
  return parsed;
}
