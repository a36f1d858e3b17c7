export { followAliases, MAX_ALIASES } from './chain.ts';
export {
  type DnsRecord,
  type DnsResponse,
  NO_ERROR,
  NOT_FOUND,
  type Question,
  questionName,
  type ServiceData,
  TIMED_OUT,
} from './message.ts';
export { NameServers } from './name-servers.ts';
export type { ServerAddress } from './udp.ts';
