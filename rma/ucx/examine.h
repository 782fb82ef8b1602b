// What UCX finds on this host, with nothing of UCX's types in it.

enum { FH_NETWORK, FH_MEMORY, FH_SELF, FH_ACCELERATOR };          // what a device is
enum { FH_NO_ATOMICS, FH_PROCESSOR_ATOMICS, FH_CARD_ATOMICS, FH_SOME_ATOMICS }; // and who does
                                                                                // its atomics

typedef struct {
	char transport[32], name[64];
	int kind, atomics, opened; // one that was not opened has none of the following
	double bytesPerSecond, latencyNs;
} fu_device;

int fu_names(fu_device *to, int most);
int fu_devices(fu_device *to, int most);
int fu_events(char *text, int most, int *events);
