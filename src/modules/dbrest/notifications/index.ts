export { Channels } from './channels.ts';
export { CACHE_CHANNEL, CHANGES_CHANNEL, OWN_CHANNELS, SCHEMA_CHANNELS } from './own-channels.ts';
export { readNotification } from './ring-text.ts';
export { NotificationFrames, openNotifications, wantedChannels } from './stream.ts';
