import {
  Client,
  type ChannelCredentials,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import type { Owner } from './owner.ts';

const same = (bytes: Buffer): Buffer => bytes;

/** A method of the test service: messages are bytes. */
function method(name: string, requestStream: boolean, responseStream: boolean) {
  return {
    path: `/test.Echo/${name}`,
    requestStream,
    responseStream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

const SERVICE = {
  Unary: method('Unary', false, false),
  Collect: method('Collect', true, false),
  Count: method('Count', false, true),
  Chat: method('Chat', true, true),
};

/** A real gRPC server. */
export interface GrpcServer {
  readonly port: number;
  /** Number of calls that their clients have cancelled. */
  cancelled(): number;
  /** Metadata of the calls so far. */
  readonly metadata: Metadata[];
}

type Unary = ServerUnaryCall<Buffer, Buffer>;

/** Starts a server on a port of 127.0.0.1, or on a Unix socket, until its owner ends. */
export async function startGrpc(
  t: Owner,
  { at = '127.0.0.1:0', tls = ServerCredentials.createInsecure() } = {},
): Promise<GrpcServer> {
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  const metadata: Metadata[] = [];
  let cancelled = 0;
  const heard: Hear = (call) => {
    metadata.push(call.metadata);
    call.on('cancelled', () => cancelled++);
    return String(call.metadata.get('x-do')[0] ?? '');
  };
  server.addService(SERVICE, handlersOf(heard));
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(at, tls, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  t.onTestFinished(async () => server.forceShutdown());
  return { port, cancelled: () => cancelled, metadata };
}

/** Records a call, and returns what its metadata request with `x-do`. */
type Hear = (call: {
  readonly metadata: Metadata;
  on(event: 'cancelled', act: () => void): unknown;
}) => string;

function handlersOf(heard: Hear): Record<keyof typeof SERVICE, UntypedHandleCall> {
  return {
    Unary(call: Unary, respond: sendUnaryData<Buffer>) {
      unary(heard(call), call, respond);
    },
    Collect(call: ServerReadableStream<Buffer, Buffer>, respond: sendUnaryData<Buffer>) {
      const parts: Buffer[] = [];
      if (heard(call) === 'refuse') return respond({ code: status.INVALID_ARGUMENT, details: 'enough' });
      call.on('data', (part: Buffer) => parts.push(part));
      call.on('end', () => respond(null, Buffer.concat(parts)));
    },
    Count(call: ServerWritableStream<Buffer, Buffer>) {
      const wanted = heard(call);
      for (let n = 0; n < 3; n++) call.write(Buffer.from(`${call.request.toString()} ${n}`));
      if (wanted === 'fail') call.emit('error', { code: status.ABORTED, details: 'on the way' });
      else if (wanted !== 'stall') call.end();
    },
    Chat(call: ServerDuplexStream<Buffer, Buffer>) {
      const wanted = heard(call);
      call.on('data', (part: Buffer) => {
        call.write(part);
        if (wanted === 'once') call.end();
      });
      call.on('end', () => call.end());
    },
  };
}

function unary(wanted: string, call: Unary, respond: sendUnaryData<Buffer>): void {
  if (wanted === 'stall') return;
  if (wanted === 'fail') {
    const trailers = new Metadata();
    trailers.set('x-why', 'because');
    return respond({ code: status.NOT_FOUND, details: 'no such thing: ünïcode', metadata: trailers });
  }
  const head = new Metadata();
  head.set('x-head', 'early');
  call.sendMetadata(head);
  const end = new Metadata();
  end.set('x-end', 'late');
  end.set('x-end-bin', Buffer.from([0, 255]));
  respond(null, call.request, end);
}

/** The end of a call. */
export interface CallOutcome {
  readonly code: number;
  readonly details: string;
  readonly messages: readonly string[];
  /** Metadata of the head. */
  readonly head: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
}

interface CallInit {
  readonly metadata?: Record<string, string>;
  readonly messages?: readonly (string | Buffer)[];
  readonly deadlineMs?: number;
  /** The client's side is not closed behind the messages. */
  readonly keepsOpen?: boolean;
  /** Called for each message, with the function that cancels the call. */
  readonly onMessage?: (message: string, cancel: () => void, say: (text?: string) => void) => void;
}

/** A real gRPC client. */
export class GrpcClient {
  readonly #client: Client;

  constructor(t: Owner, port: number, secure: ChannelCredentials = credentials.createInsecure()) {
    this.#client = new Client(`127.0.0.1:${port}`, secure, {
      'grpc.max_receive_message_length': -1,
      'grpc.use_local_subchannel_pool': 1,
    });
    t.onTestFinished(async () => this.#client.close());
  }

  /** Calls a method; the messages are sent at once. */
  call(
    name: string,
    { metadata = {}, messages = [''], deadlineMs, keepsOpen = false, onMessage }: CallInit = {},
  ): Promise<CallOutcome> {
    const sent = new Metadata();
    for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
    const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
    const call = this.#client.makeBidiStreamRequest(`/test.Echo/${name}`, same, same, sent, options);
    return new Promise((resolve) => {
      const received: string[] = [];
      let head = new Metadata();
      const say = (text?: string): void =>
        void (text === undefined ? call.end() : call.write(Buffer.from(text)));
      call.on('metadata', (given: Metadata) => (head = given));
      call.on('data', (bytes: Buffer) => {
        received.push(bytes.length > 1_000 ? `${bytes.length} bytes` : bytes.toString());
        onMessage?.(bytes.toString(), () => call.cancel(), say);
      });
      call.on('error', () => undefined);
      call.on('status', ({ code, details, metadata: trailers }) =>
        resolve({ code, details, messages: received, head: head.getMap(), trailers: trailers.getMap() }),
      );
      for (const message of messages) call.write(Buffer.from(message));
      if (!keepsOpen) call.end();
    });
  }
}
