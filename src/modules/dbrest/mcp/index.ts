import type { LocationFacts } from '../../../contract/index.ts';
import { type Exchange, type KnowsHost, isOwnName } from '../../../http/index.ts';
import { VERSION } from '../../../version.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig, CorsOrigins } from '../directives/index.ts';
import {
  bodyTooLarge,
  DbrestFault,
  onlyReads,
  tooLargeResult,
  foreignOrigin,
  notOfTools,
  wrongToolHeader,
} from '../fault/index.ts';
import {
  checkServedHere,
  innerExchange,
  shownBaseOf,
  functionPath,
  mcpPath,
  receiveBody,
  type ReceivedBody,
  scanJson,
} from '../request/index.ts';
import { JSON_CONTENT_TYPE } from '../json.ts';
import type { Schema } from '../schema/index.ts';
import type { RunPlan } from '../sql/index.ts';
import {
  errorMessage,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type Json,
  type Message,
  messageOf,
  NO_METHOD,
  type Params,
  PARSE_ERROR,
  resultMessage,
  RpcError,
  failedResult,
  immediateResult,
  resultOf,
} from './message.ts';
import type { ToolCall } from './tool.ts';
import { type RoleTools, ToolLists, toolsPage } from './tool-list.ts';

/** Makes the response to a request. `planned` is called with the plan before it runs. */
type Respond = (
  x: Exchange,
  caller: { readonly identity: Identity; readonly planned: (plan: RunPlan) => Promise<void> },
) => Promise<void>;

export interface McpParts {
  readonly location: LocationFacts;
  readonly knowsHost: KnowsHost;
  /** Loads the schema if necessary. */
  readonly schema: () => Schema | Promise<Schema>;
  readonly respond: Respond;
}

/** The tools of a location for clients of the Model Context Protocol. */
interface Mcp {
  isMcp(uri: string): boolean;
  /** Serves a message. The promise rejects with errors that `faultOf` turns into a response. */
  serve(x: Exchange, caller: { readonly identity: Identity }): Promise<void>;
}

/** Most bytes of one message. */
const MOST_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Most bytes of the response that a tool asks for; its result has them twice, as JSON and as a text. */
const MOST_RESULT_BYTES = 1024 * 1024;
/** Most rows of one call where `dbrest_max_rows` has no limit for all. */
const MOST_ROWS = 1_000;

/** Compiles `dbrest_mcp`; `undefined`: the location has no tools. */
export function compileMcp(config: DbrestConfig, parts: McpParts): Mcp | undefined {
  const path = mcpPath(parts.location, config);
  if (path === undefined) return undefined;
  const headRules = { corsOrigins: config.corsOrigins, knowsHost: parts.knowsHost };
  const respondTo = compileMethods(config, parts);
  const serve: Mcp['serve'] = async (x, { identity }) => {
    if (x.method === 'OPTIONS') return allow(x);
    checkHead(x, headRules);
    const received = await receiveBody(x);
    if (!received) return;
    if (received.bytes.length > MOST_MESSAGE_BYTES)
      throw bodyTooLarge({ of: 'message', bytes: MOST_MESSAGE_BYTES });
    const message = await readMessage(received);
    if (message.kind === 'silent') return x.send(202, '', '');
    if (message.kind === 'invalid') return sendInvalid(x, new RpcError(INVALID_REQUEST, message.why));
    if (message.kind === 'unreadable') return sendInvalid(x, new RpcError(PARSE_ERROR, 'this is not JSON'));
    const response = await respondTo(x, message, identity);
    x.send(200, JSON_CONTENT_TYPE, response);
  };
  return { isMcp: (uri) => uri === path, serve };
}

function allow(x: Exchange): void {
  x.response.setHeader('Allow', 'OPTIONS,POST');
  x.send(200, '', '');
}

function sendInvalid(x: Exchange, error: RpcError): void {
  x.send(400, JSON_CONTENT_TYPE, errorMessage(error));
}

async function readMessage({
  bytes,
  turn,
}: ReceivedBody): Promise<Message | { readonly kind: 'unreadable' }> {
  try {
    await scanJson(bytes, 'any', turn);
  } catch (error) {
    if (error instanceof DbrestFault) return { kind: 'unreadable' };
    throw error;
  }
  return messageOf(bytes, JSON.parse(bytes.toString()));
}

type RequestMessage = Extract<Message, { readonly kind: 'request' }>;

/** Compiles the responses to requests of the protocol. */
function compileMethods(
  config: DbrestConfig,
  parts: McpParts,
): (x: Exchange, message: RequestMessage, identity: Identity) => Promise<Buffer> {
  const { location, schema } = parts;
  const lists = new ToolLists({
    schemas: config.schemas,
    writes: config.mcp === 'write',
    nests: config.nestedInsert,
    mostRows: config.maxRows?.usual ?? MOST_ROWS,
    functionPath: functionPath(location, config.rpc),
  });
  const callTool = compileCall(config, parts);
  const resultTo = async (x: Exchange, { method, params }: RequestMessage, identity: Identity) => {
    if (method === 'initialize') return [initialized(params, config)];
    if (method === 'ping') return ['{}'];
    if (method !== 'tools/list' && method !== 'tools/call') throw new RpcError(NO_METHOD, 'unknown method');
    const tools = lists.of(identity.role, await schema());
    if (method === 'tools/list') return [pageOf(tools, params)];
    const tool = tools.byName.get(textOf(params, 'name') ?? '');
    if (!tool) throw new RpcError(INVALID_PARAMS, 'unknown tool');
    return callTool(x, identity, () => tool.call(given(params, 'arguments'), tools.context));
  };
  return async (x, message, identity) => {
    try {
      return resultMessage(message.id, await resultTo(x, message, identity));
    } catch (error) {
      if (error instanceof RpcError) return errorMessage(error, message.id);
      throw error;
    }
  };
}

function pageOf(tools: RoleTools, params: Params): string {
  const page = toolsPage(tools, textOf(params, 'cursor'));
  if (page === undefined) throw new RpcError(INVALID_PARAMS, 'unknown cursor');
  return page;
}

/** A parameter; null stands for one that is absent. */
function given(params: Params, name: string): Buffer | undefined {
  const json = params.get(name);
  return json?.toString('latin1', 0, 5).trim() === 'null' ? undefined : json;
}

function textOf(params: Params, name: string): string | undefined {
  const json = given(params, name);
  const value: unknown = json && JSON.parse(json.toString());
  if (value === undefined || typeof value === 'string') return value;
  throw new RpcError(INVALID_PARAMS, `"${name}" is a string`);
}

/** A client that knows no revision in common with gw closes the connection. */
function initialized(params: Params, { mcp }: DbrestConfig): string {
  const asked = textOf(params, 'protocolVersion');
  if (asked === undefined) throw new RpcError(INVALID_PARAMS, '"protocolVersion" is missing');
  const does = mcp === 'write' ? 'read and change' : 'read';
  return JSON.stringify({
    protocolVersion: VERSIONS.find((known) => known === asked) ?? VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: 'gw', version: VERSION },
    instructions: `Tools to ${does} a PostgreSQL database, as far as its privileges allow. Begin with list_tables and describe_table.`,
  });
}

/** Compiles the call of a tool. A refusal of the database or of gw is a result, too, for the model to read. */
function compileCall(
  config: DbrestConfig,
  { location, respond }: McpParts,
): (x: Exchange, identity: Identity, callOf: () => ToolCall) => Promise<Json> {
  const base = location.path.replace(/\/$/, '');
  const own = mcpPath(location, config)?.slice(base.length) ?? '';
  return async (origin, identity, callOf) => {
    try {
      const call = callOf();
      if (call.kind === 'result') return immediateResult(call.json);
      const shownBase = shownBaseOf(origin, own, base);
      const where = { base, shownBase, mostBytes: MOST_RESULT_BYTES };
      const { x, response } = innerExchange(origin, call.request, where);
      await checkServedHere(x, location);
      await respond(x, { identity, planned: (plan) => admit(plan, call) });
      if (response.outgrown) throw tooLargeResult(MOST_RESULT_BYTES);
      return resultOf(x, response.body, call.member);
    } catch (error) {
      if (error instanceof DbrestFault) return failedResult(error.body(config.errorVerbosity));
      throw error;
    }
  };
}

/** The tool was chosen by the schema as it was then: the plan that runs decides. */
function admit(plan: RunPlan, { readOnly }: { readonly readOnly: boolean }): Promise<void> {
  const writes = plan.kind === 'write' || (plan.kind === 'call' && !plan.readOnly);
  return readOnly && writes ? Promise.reject(onlyReads()) : Promise.resolve();
}

/** Revisions of the protocol, the newest first. Their differences do not concern tools without sessions. */
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

interface HeadRules {
  readonly corsOrigins: CorsOrigins;
  readonly knowsHost: KnowsHost;
}

/**
 * Checks the head of a message (Model Context Protocol, "Streamable HTTP"). Throws DBREST131, DBREST132 or DBREST136. Streams and
 * sessions, for which GET and DELETE are, do not exist here.
 */
function checkHead(x: Exchange, rules: HeadRules): void {
  checkOrigin(x, rules);
  if (x.method !== 'POST') throw notOfTools(x.method);
  const accept = x.header('accept');
  if (accept !== undefined && !/(?:^|[,\s])(?:application\/(?:json|\*)|\*\/\*)/i.test(accept))
    throw wrongToolHeader('Messages are sent as application/json, which "Accept" does not allow', 406);
  if (!/^application\/json\s*(?:;|$)/i.test(x.header('content-type') ?? ''))
    throw wrongToolHeader('A message has the Content-Type application/json', 415);
  const version = x.header('mcp-protocol-version');
  if (version !== undefined && !VERSIONS.some((known) => known === version))
    throw wrongToolHeader(`"MCP-Protocol-Version" is one of ${VERSIONS.join(', ')}`);
}

/**
 * A page may use the tools only from an origin that is listed by name: `*` allows every page to read rows, but a page
 * of a name that was rebound to this address would have the rights of the network that its reader is in.
 */
function checkOrigin(x: Exchange, { corsOrigins, knowsHost }: HeadRules): void {
  const origin = x.header('origin')?.toLowerCase();
  if (origin === undefined || (corsOrigins !== '*' && corsOrigins.includes(origin))) return;
  const own = `${x.request.port.scheme}://${(x.header('host') ?? '').toLowerCase()}`;
  if (origin === own && isOwnName(x.request.host, knowsHost)) return;
  throw foreignOrigin('Pages of this origin may not use the tools of the database');
}
