export { Channels } from './channels.ts';
export { readNotification } from './ring-text.ts';
export { NotificationFrames, openNotifications, wantedChannels } from './stream.ts';
