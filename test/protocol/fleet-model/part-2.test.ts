import { tellStories } from '../../support/fleet/stories.ts';

tellStories(1);
