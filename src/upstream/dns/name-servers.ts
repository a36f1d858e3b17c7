import { type DnsResponse, type Question, TIMED_OUT } from './message.ts';
import { TcpConnections } from './tcp.ts';
import { type Attempt, type ServerAddress, UdpSockets } from './udp.ts';

/** Time until a query is sent to the next server. */
const TRY_MS = 2000;

interface NameServer {
  readonly udp: UdpSockets;
  readonly tcp: TcpConnections;
}

/**
 * The name servers of one `resolver`. As in nginx, they take turns: each name is asked from the next one, and again from the
 * one after it while there is no response.
 */
export class NameServers {
  readonly #servers: readonly NameServer[];
  readonly #open = new Set<Asking>();
  #turn = 0;

  constructor(addresses: readonly ServerAddress[]) {
    this.#servers = addresses.map((address) => ({
      udp: new UdpSockets(address),
      tcp: new TcpConnections(address),
    }));
  }

  /** Asks all questions from the same server. Never rejects: without a response, the code is `TIMED_OUT`. */
  ask(questions: readonly Question[], timeoutMs: number): Promise<DnsResponse[]> {
    const turn = this.#turn;
    this.#turn = (turn + 1) % this.#servers.length;
    const servers = [...this.#servers.slice(turn), ...this.#servers.slice(0, turn)];
    return Promise.all(questions.map((question) => this.#ask(question, servers, timeoutMs)));
  }

  /** Ends all queries as if there were no response. */
  close(): void {
    for (const asking of this.#open) asking.end({ code: TIMED_OUT, records: [] });
  }

  #ask(question: Question, servers: readonly NameServer[], timeoutMs: number): Promise<DnsResponse> {
    return new Promise((resolve) => {
      const asking: Asking = new Asking(question, servers, (response) => {
        this.#open.delete(asking);
        resolve(response);
      });
      this.#open.add(asking);
      asking.start(timeoutMs);
    });
  }
}

/** One question, until there is a response. A response may come from each server that was asked. */
class Asking {
  readonly #question: Question;
  readonly #servers: readonly NameServer[];
  readonly #done: (response: DnsResponse) => void;
  readonly #attempts = new Map<NameServer, Attempt>();
  #at = 0;
  /** Failures since the last pause. */
  #failures = 0;
  #isOver = false;
  #next: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor(question: Question, servers: readonly NameServer[], done: (response: DnsResponse) => void) {
    this.#question = question;
    this.#servers = servers;
    this.#done = done;
  }

  /** Asks the first server. */
  start(timeoutMs: number): void {
    this.#deadline = setTimeout(() => this.end({ code: TIMED_OUT, records: [] }), timeoutMs);
    this.#try();
  }

  /** Closes the sockets and connections of the question. */
  end(response: DnsResponse): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#next);
    clearTimeout(this.#deadline);
    for (const attempt of this.#attempts.values()) attempt.close();
    this.#done(response);
  }

  /** Asks the next server. */
  #try(): void {
    const server = this.#servers[this.#at++ % this.#servers.length];
    if (!server) return;
    if (!this.#attempts.get(server)?.again()) this.#askOverUdp(server);
    clearTimeout(this.#next);
    this.#next = setTimeout(() => {
      this.#failures = 0;
      this.#try();
    }, TRY_MS);
  }

  #askOverUdp(server: NameServer): void {
    const attempt = server.udp.send(this.#question, {
      responded: (response) => this.end(response),
      truncated: () => this.#askOverTcp(server),
      failed: () => this.#failed(server),
    });
    this.#attempts.set(server, attempt);
  }

  #askOverTcp(server: NameServer): void {
    this.#attempts.delete(server);
    const attempt = server.tcp.send(this.#question, {
      responded: (response) => this.end(response),
      failed: () => this.#failed(server),
    });
    if (attempt) this.#attempts.set(server, attempt);
  }

  /** Asks the next server at once, as long as there is one that has not failed. */
  #failed(server: NameServer): void {
    this.#attempts.delete(server);
    if (++this.#failures < this.#servers.length) this.#try();
  }
}
