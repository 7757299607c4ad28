//! Connections that nobody else can read or join: each side shows a certificate that the same authority signed.
//!
//! Ballista opens a port on executors for the tasks that a scheduler sends, and lets nobody change how. So with certificates,
//! executors ask the scheduler for tasks instead.

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::error::BallistaError;
use ballista_core::extension::EndpointOverrideFn;
use ballista_core::utils::create_grpc_server;
use ballista_executor::ArrowFlightServerProvider;
use ballista_executor::flight_service::BallistaFlightService;
use colkit::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

/// A certificate with its key, and the authority that signs those of the others.
#[derive(Clone)]
pub struct Tls {
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// Reads `ca.pem`, `cert.pem` and `key.pem` in a folder.
    pub fn load(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| Error::from(e).file(path.display().to_string()).part("certificates"))
        };
        Ok(Tls { authority: read("ca.pem")?, certificate: read("cert.pem")?, key: read("key.pem")? })
    }

    /// What a server shows, and asks of those who connect.
    pub(crate) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new()
            .identity(Identity::from_pem(&self.certificate, &self.key))
            .client_ca_root(Certificate::from_pem(&self.authority))
    }

    fn client(&self) -> ClientTlsConfig {
        ClientTlsConfig::new()
            .identity(Identity::from_pem(&self.certificate, &self.key))
            .ca_certificate(Certificate::from_pem(&self.authority))
    }

    /// Makes connections of Ballista such ones.
    pub(crate) fn endpoints(&self) -> EndpointOverrideFn {
        let tls = self.client();
        Arc::new(move |endpoint: Endpoint| {
            let address = endpoint.uri().to_string().replacen("http://", "https://", 1);
            let endpoint = Endpoint::from_shared(address)?
                .connect_timeout(Duration::from_secs(20))
                .tcp_nodelay(true)
                .tcp_keepalive(Some(Duration::from_secs(60)))
                .http2_keep_alive_interval(Duration::from_secs(60))
                .keep_alive_timeout(Duration::from_secs(20));
            Ok(endpoint.tls_config(tls.clone())?)
        })
    }

    /// Makes questions of ours such ones.
    pub(crate) fn http(&self, client: reqwest::ClientBuilder) -> reqwest::Result<reqwest::ClientBuilder> {
        let own = [self.key.as_slice(), b"\n", self.certificate.as_slice()].concat();
        Ok(client
            .use_rustls_tls()
            .tls_built_in_root_certs(false)
            .add_root_certificate(reqwest::Certificate::from_pem(&self.authority)?)
            .identity(reqwest::Identity::from_pem(&own)?))
    }

    /// The service that others fetch results from.
    pub(crate) fn flight(&self, largest: u32) -> Arc<ArrowFlightServerProvider> {
        let tls = self.server();
        let largest = usize::try_from(largest).unwrap_or(usize::MAX);
        Arc::new(move |work_folder, address, mut shutdown, config| {
            let tls = tls.clone();
            tokio::spawn(async move {
                let service = FlightServiceServer::new(BallistaFlightService::new(work_folder))
                    .max_decoding_message_size(largest)
                    .max_encoding_message_size(largest);
                let mut server = create_grpc_server(&config).tls_config(tls).map_err(BallistaError::TonicError)?;
                server
                    .add_service(service)
                    .serve_with_shutdown(address, shutdown.recv())
                    .await
                    .map_err(BallistaError::TonicError)
            })
        })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
